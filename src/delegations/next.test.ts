import { describe, expect, it } from "vitest";
import type { Contract } from "../contracts/contract.ts";
import type { EventPayloads, NewEvent } from "../events/event.ts";
import { Transcript } from "../sessions/transcript.ts";
import { exampleContract } from "../testing/example-contract.ts";
import { failure, retryable } from "./ends/ending.ts";
import { afterAttempt, next } from "./next.ts";

const contract: Contract = exampleContract();
const running = [{ id: "b2c409", profile: "worker", title: "look" }];

function said(...events: readonly NewEvent[]): Transcript {
  const transcript = new Transcript("do it");
  for (const event of events) transcript.apply(event);
  return transcript;
}

function turn(of: Partial<EventPayloads["agent.model_turn"]>): NewEvent {
  const { model, provider } = contract.model;
  const requested = `${provider}/${model}`;
  const usage = { prompt: 1, completion: 1, cost: 0 };
  const payload = { requested, served: null, usage, finish_reason: "stop", ...of } as const;
  return { type: "agent.model_turn", payload };
}

const call = { id: "c1", name: "list_files", input: {} };
const denied: NewEvent = {
  type: "agent.tool_denied",
  payload: { call_id: "c1", tool: "list_files", rule: "unknown_tool", error: "no" },
};

describe("what is done next for a delegation", () => {
  it("is asking the model at first, and when every call has its result", () => {
    expect(next({ contract, transcript: said(), running: [] })).toEqual({ do: "ask-model" });
    const transcript = said(turn({ calls: [call] }), denied);
    expect(next({ contract, transcript, running: [] })).toEqual({ do: "ask-model" });
  });

  it("is making the calls that the model asked for", () => {
    const transcript = said(turn({ calls: [call] }));
    expect(next({ contract, transcript, running: [] })).toEqual({ do: "perform-calls" });
  });

  it("is the end with its answer, and with children at work a word about them, once", () => {
    const answer = turn({ text: "done" });
    const ended = { do: "end", ending: { kind: "output", text: "done" } };
    expect(next({ contract, transcript: said(answer), running: [] })).toMatchObject(ended);
    const told = next({ contract, transcript: said(answer), running });
    const cause = { code: "children_running", children: running } as const;
    expect(told).toEqual({ do: "say", from: "background", reminder: cause });
    const payload = { from: "background", severity: "warn", message: "…", cause } as const;
    const again = said(answer, { type: "agent.interjected", payload }, answer);
    expect(next({ contract, transcript: again, running })).toMatchObject(ended);
  });

  it("is the same for the same log, however often it is asked", () => {
    const transcript = said(turn({ text: "" }));
    const first = next({ contract, transcript, running: [] });
    expect(next({ contract, transcript, running: [] })).toEqual(first);
    expect(first).toMatchObject({ do: "say", from: "runtime", reminder: { code: "answer_empty" } });
  });

  it("is the end after too many calls that could not be made", () => {
    const turns = Array.from({ length: 5 }, (_, index) => {
      const id = `c${index}`;
      const refused = { ...denied, payload: { ...denied.payload, call_id: id } } as NewEvent;
      return [turn({ calls: [{ ...call, id, input: { index } }] }), refused];
    });
    const transcript = said(...turns.flat());
    expect(next({ contract, transcript, running: [] })).toMatchObject({
      ...{ do: "end", ending: { kind: "failure", cause: { code: "invalid_streak" }, retry: true } },
    });
  });
});

describe("what follows an attempt", () => {
  const once = { ...contract, execution: { ...contract.execution, max_retries: 1 } };
  const passing = retryable({ code: "answer_empty" });
  const best = () => failure({ code: "budget_overrun" });

  it("is another one while that may help and the contract allows it", () => {
    const first = afterAttempt(passing, { attempt: 1, isOverrun: false }, once, best);
    expect(first).toEqual({ do: "retry", cause: { code: "answer_empty" } });
    const second = afterAttempt(passing, { attempt: 2, isOverrun: false }, once, best);
    expect(second).toEqual({ do: "close", ending: passing });
  });

  it("is its end with the best it has when a provider overran the budget", () => {
    const output = { kind: "output", text: "x", truncated: false, reason: null } as const;
    const ended = afterAttempt(output, { attempt: 1, isOverrun: true }, once, best);
    const ending = { ...output, truncated: true, reason: "budget_exhausted" };
    expect(ended).toEqual({ do: "close", ending });
    const failed = afterAttempt(passing, { attempt: 1, isOverrun: true }, once, best);
    expect(failed).toEqual({ do: "close", ending: best() });
  });
});
