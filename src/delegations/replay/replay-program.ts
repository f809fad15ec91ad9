import type { NewEvent, StoredEvent } from "../../events/event.ts";
import { billionths } from "../../ports/dollars.ts";
import type { Used } from "../budget.ts";
import { closeWith } from "../ends/close.ts";
import type { LiveDelegation } from "../live-delegation.ts";
import { Session } from "../session.ts";
import { performCall } from "../turns/perform-calls.ts";
import { recordedEnds } from "./recorded-stops.ts";
import type { RecordedDelegation } from "./recording.ts";
import type { Replayer } from "./replayer.ts";

/**
 * Replays the agent of another program: its calls, whose inputs are not recorded, and its requests to
 * models, which only the program knows. Reservations are made again from the budget of the replay.
 */
export function replaySession(replayer: Replayer, recorded: RecordedDelegation): void {
  const { calls, events, id } = recorded;
  const agent = replayer.run.delegations.byId.get(id);
  if (agent === undefined) return;
  const session = new Session(agent);
  for (const [callId, { seq, tool }] of calls) {
    const call = { id: callId, name: tool, input: {} };
    replayer.course.at(seq, () => {
      performCall(agent, { call, started: false }, { withdrawn: false }).catch(() => undefined);
    });
  }
  replayRequests(replayer, recorded, agent);
  const end = events.find((event) => event.type === "agent.subagent_waiting_for_merge");
  if (end === undefined) return;
  const { output: text, reason = null, truncated = false } = end.payload;
  const hasRequests = agent.process.cuts !== null;
  const close = () =>
    hasRequests ? closeWith(agent, { kind: "output", text, truncated, reason }) : session.close();
  const first = hasRequests
    ? (recordedEnds(events, { withOutput: true }).get(id) ?? end.seq)
    : end.seq;
  replayer.course.at(first, () => void close().catch(() => undefined));
}

function replayRequests(
  { course }: Replayer,
  { events, id }: RecordedDelegation,
  agent: LiveDelegation,
): void {
  const end = recordedEnds(events, { withOutput: true }).get(id) ?? Number.POSITIVE_INFINITY;
  for (const recorded of events) {
    const { seq } = recorded;
    if (recorded.type === "agent.budget_reserved") {
      agent.process.cuts ??= new Map();
      agent.process.cuts.set(recorded.payload.request, () => usedBy(events, recorded));
    }
    // What is settled by the end, the end itself settles again.
    if (seq >= end || !ofRequests.has(recorded.type)) continue;
    course.at(seq, () => {
      if (agent.process.end.isEnding || !fits(agent, recorded)) return;
      const { payload, type } = recorded;
      agent.record({ type, sub_agent_id: id, payload } as NewEvent);
    });
  }
}

const ofRequests: ReadonlySet<string> = new Set([
  ...["agent.budget_reserved", "agent.budget_settled", "agent.model_turn"],
  ...["agent.model_clamped", "agent.request_refused"],
]);

function fits(agent: LiveDelegation, event: StoredEvent): boolean {
  if (event.type !== "agent.budget_reserved") return true;
  const { cost = 0, tokens } = event.payload;
  return agent.budget.fits({ tokens, cost: billionths(cost) });
}

function usedBy(
  events: readonly StoredEvent[],
  { payload: { request, ...reserved } }: StoredEvent<"agent.budget_reserved">,
): Used {
  for (const { payload, type } of events) {
    if (type !== "agent.budget_settled" || payload.request !== request) continue;
    const { completion, cost, prompt } = payload;
    return { prompt, completion, cost, isEstimated: true };
  }
  const { cost = 0, prompt = 0, tokens } = reserved;
  return { prompt, completion: tokens - prompt, cost, isEstimated: true };
}
