import type { NewEvent, StoredEvent } from "../../events/event.ts";
import { billionths } from "../../ports/dollars.ts";
import {
  type AgentProgram,
  type AgentPrograms,
  type ModelRequests,
  ProgramFault,
} from "../agent-programs.ts";
import type { Used } from "../budget.ts";
import { closeWith } from "../ends/close.ts";
import type { LiveDelegation } from "../live-delegation.ts";
import { Session } from "../session.ts";
import { performCall } from "../turns/perform-calls.ts";
import type { Course } from "./course.ts";
import { recordedEnds } from "./recorded-stops.ts";
import type { RecordedDelegation, Recording } from "./recording.ts";
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
  replayRequests(replayer, recorded);
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

/**
 * Schedules what an agent program did by itself: its requests, its calls of our tools and its reports. Its
 * turns are those of `RecordedProgram`.
 */
export function replayProgram(replayer: Replayer, recorded: RecordedDelegation): void {
  const { calls, id } = recorded;
  for (const [callId, { seq, tool }] of calls) {
    const call = { id: callId, name: tool, input: {} };
    replayer.course.at(seq, () => {
      const agent = replayer.run.delegations.byId.get(id);
      if (agent === undefined || agent.process.end.isEnding) return;
      performCall(agent, { call, started: false }, { withdrawn: false }).catch(() => undefined);
    });
  }
  replayRequests(replayer, recorded);
}

function replayRequests(replayer: Replayer, { events, id }: RecordedDelegation): void {
  const { course, run } = replayer;
  const end = recordedEnds(events, { withOutput: true }).get(id) ?? Number.POSITIVE_INFINITY;
  const first = run.delegations.byId.get(id);
  for (const recorded of events) {
    const { seq } = recorded;
    if (recorded.type === "agent.budget_reserved" && first !== undefined) {
      first.process.cuts ??= new Map();
      first.process.cuts.set(recorded.payload.request, () => usedBy(events, recorded));
    }
    // What is settled by the end, the end itself settles again.
    if (seq >= end || !ofPrograms.has(recorded.type)) continue;
    course.at(seq, () => {
      const agent = replayer.run.delegations.byId.get(id);
      if (agent === undefined || agent.process.end.isEnding || !fits(agent, recorded)) return;
      const { payload, type } = recorded;
      agent.record({ type, sub_agent_id: id, payload } as NewEvent);
    });
  }
}

const ofPrograms: ReadonlySet<string> = new Set([
  ...["agent.budget_reserved", "agent.budget_settled", "agent.model_turn"],
  ...["agent.model_clamped", "agent.request_refused", "agent.program_reported"],
  "agent.program_called",
]);

/** Agent programs as the recording has them: each turn ends as it ended there. */
export function recordedPrograms(
  { delegations }: Pick<Recording, "delegations">,
  course: Course,
): AgentPrograms {
  return {
    obstacleTo: () => undefined,
    modelsFor: (_runner, candidates) => candidates(),
    loginHosts: () => [],
    async open({ delegationId: id, requests }) {
      const events = delegations.get(id)?.events ?? [];
      const next = nextOf(course, id, events);
      await course.when(next?.seq ?? Number.POSITIVE_INFINITY);
      if (next?.type !== "agent.program_started") throw faultIn(next);
      const { program: name, resumed = false, session } = next.payload;
      return {
        ...{ name, session, isResumed: resumed },
        prompt: () => recordedTurn(course, { events, id, requests }),
        cancel: () => undefined,
        close: () => Promise.resolve(),
      };
    },
    release: () => Promise.resolve(),
    forget: () => Promise.resolve(),
    tidy: () => Promise.resolve(),
  };
}

async function recordedTurn(
  course: Course,
  of: {
    readonly events: readonly StoredEvent[];
    readonly id: string;
    readonly requests: ModelRequests;
  },
): ReturnType<AgentProgram["prompt"]> {
  const end = nextOf(course, of.id, of.events);
  await course.when(end?.seq ?? Number.POSITIVE_INFINITY);
  if (end?.type === "agent.program_answered") return end.payload;
  const refused = of.events.findLast(({ type }) => type === "agent.request_refused");
  if (end?.type === "agent.subagent_waiting_for_merge") {
    of.requests.noteRefusal({ code: "cost_spent" });
  } else if (end?.type === "agent.subagent_failed" && refused !== undefined) {
    of.requests.noteRefusal(end.payload.cause);
  } else {
    throw faultIn(end);
  }
  return { stop: "end_turn", text: "" };
}

type EndOfTurn = StoredEvent<
  | "agent.program_started"
  | "agent.program_answered"
  | "agent.retried"
  | "agent.subagent_waiting_for_merge"
  | "agent.subagent_failed"
>;

const endsOfTurns: ReadonlySet<string> = new Set<EndOfTurn["type"]>([
  ...(["agent.program_started", "agent.program_answered", "agent.retried"] as const),
  ...(["agent.subagent_waiting_for_merge", "agent.subagent_failed"] as const),
]);

function nextOf(course: Course, id: string, events: readonly StoredEvent[]): EndOfTurn | undefined {
  return events
    .slice(course.seenOf(id))
    .find((event): event is EndOfTurn => endsOfTurns.has(event.type));
}

/** The fault that the recorded end of a turn means. */
function faultIn(end: EndOfTurn | undefined): ProgramFault {
  const cause = end && "cause" in end.payload ? end.payload.cause : undefined;
  const isPassing = end?.type === "agent.retried";
  if (cause?.code === "program_unusable") return new ProgramFault(cause.text, { isPassing });
  if (cause?.code !== "program_failed") return new ProgramFault("", { isPassing });
  return new ProgramFault(cause.text ?? "", { isPassing, exit: cause.exit });
}

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
