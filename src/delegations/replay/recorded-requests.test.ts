import { expect, it } from "vitest";
import type { NewEvent, StoredEvent } from "../../events/event.ts";
import { upcast } from "../../events/upcast.ts";
import { recordedRequests } from "./recorded-requests.ts";

const reserved = (request: number): NewEvent => ({
  type: "agent.budget_reserved",
  payload: { request, tokens: 9, prompt: 5 },
});
const lost = (request: number): NewEvent => ({
  type: "agent.budget_settled",
  payload: { request, reserved: 9, prompt: 0, completion: 0, cost: 0 },
});
const compacted: NewEvent = { type: "agent.compacted", payload: { before_messages: 7 } };

function requestsIn(...events: readonly NewEvent[]) {
  const stored = events.map((event, seq) => ({ ...event, seq }) as StoredEvent);
  return recordedRequests(stored, 1000);
}

it("finds what earlier versions did with a conversation that was too long: once more, then failed", () => {
  const error = "The conversation does not fit the model's window: too long";
  const payload = { code: "no_progress", error };
  const failed = upcast({ type: "agent.subagent_failed", payload } as NewEvent);
  const found = requestsIn(reserved(1), lost(1), compacted, reserved(2), lost(2), failed);
  expect([...found.values()]).toMatchObject([
    { kind: "fault", shortenings: [], isSent: true, hasFailed: false },
    {
      cause: { code: "window_exceeded", text: "too long" },
      shortenings: [{ before_messages: 7 }],
      isSent: true,
      hasFailed: true,
    },
  ]);
});

it("knows a conversation that was shortened for a request that was not sent", () => {
  const found = requestsIn(reserved(1), lost(1), compacted);
  expect(found.get(2)).toMatchObject({ shortenings: [{ before_messages: 7 }], isSent: false });
});

it("counts the shortenings of each attempt", () => {
  const attempt: NewEvent = { type: "agent.subagent_attempt", payload: { attempt: 2, of: 2 } };
  const found = requestsIn(reserved(1), lost(1), compacted, reserved(2), attempt, reserved(3));
  expect(found.get(2)?.shortenings).toHaveLength(1);
  expect(found.get(3)?.shortenings).toEqual([]);
});
