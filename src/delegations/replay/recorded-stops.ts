import { type Cause, closeReasonOf } from "../../events/cause.ts";
import type { CloseReason } from "../../events/close-reason.ts";
import type { EventPayloads, StoredEvent } from "../../events/event.ts";

/** An end from outside the delegation's own work: a person, a deadline, a full disk, another process. */
export interface RecordedStop {
  readonly delegationId: string;
  readonly cause: Cause;
  /** Written by another process than the one that worked on the delegation. */
  readonly isForeign: boolean;
  /** How many events the delegation has before its end begins. */
  readonly after: number;
  /** The first event of its end, or of the ends of descendants that ended with it. */
  readonly seq: number;
}

/** Whether the cause came from outside: a replay of the delegation's own work does not lead to it. */
function isStop(cause: Cause): boolean {
  if (cause.code === "quota_spent") return true;
  return outside.has(closeReasonOf(cause)) && !fromWithin.has(cause.code);
}

const outside: ReadonlySet<CloseReason> = new Set([
  ...(["cancelled", "storage_full", "timeout", "worker_lost", "policy_denied"] as const),
]);

/** Causes that follow again from the model's answers, from recovery, or from the changed files. */
const fromWithin: ReadonlySet<Cause["code"]> = new Set([
  "model_stalled",
  ...(["resumptions_exhausted", "working_copy_gone"] as const),
  ...(["denied_streak", "turn_refused", "plan_not_run"] as const),
  ...(["wrote_outside", "wrote_protected", "changes_refused", "merge_not_approved"] as const),
]);

/** An attempt that ended at its deadline. */
export interface RecordedCut {
  readonly cause: Cause;
  /** How many events the delegation has before the deadline. */
  readonly after: number;
  readonly seq: number;
}

export function isCut({ cause, what }: EventPayloads["agent.retried"]): boolean {
  return what === "attempt" && cause.code === "attempt_deadline";
}

/** The cuts that the events of one delegation record. */
export function recordedCuts(events: readonly StoredEvent[]): readonly RecordedCut[] {
  return events.flatMap((event, index) => {
    if (event.type !== "agent.retried" || !isCut(event.payload)) return [];
    const after = firstOfEnd(events, index);
    return { cause: event.payload.cause, after, seq: events[after]?.seq ?? event.seq };
  });
}

/** A moment at which a delegation was suspended, or interrupted with its caller. */
export interface RecordedSuspension {
  readonly event: StoredEvent<"agent.paused"> | StoredEvent<"agent.interrupted">;
  /** How many events the delegation has before that. */
  readonly after: number;
  readonly seq: number;
}

/**
 * From the events of one delegation. An interrupted one suspends by itself, after its descendants.
 * `isDistributed`: no recovery of the whole run repeats an interrupt after which all of them continue.
 */
export function recordedSuspensions(
  events: readonly StoredEvent[],
  isDistributed: boolean,
): readonly RecordedSuspension[] {
  let isInterrupted = false;
  return events.flatMap((event, index): RecordedSuspension[] => {
    if (event.type === "agent.resumed") isInterrupted = false;
    if (event.type === "agent.interrupted") {
      isInterrupted = true;
      if (event.payload.resumed === true && !isDistributed) return [];
      return [{ event, after: index, seq: event.seq }];
    }
    if (event.type !== "agent.paused" || event.payload.reason !== "interrupt") return [];
    if (isInterrupted) return [];
    const after = firstOfEnd(events, index);
    return [{ event, after, seq: events[after]?.seq ?? event.seq }];
  });
}

/** Whether it ended because its caller did, in the same transaction. */
function endedWithCaller(cause: Cause): boolean {
  return closeReasonOf(cause) === "parent_closed" || endingWithCaller.has(cause.code);
}

const endingWithCaller: ReadonlySet<Cause["code"]> = new Set(["caller_cancelled", "caller_ended"]);

/** The ends from outside, without the ends of descendants that ended with their caller. */
export function recordedStops(events: readonly StoredEvent[]): readonly RecordedStop[] {
  const ends = recordedEnds(events);
  return [...Map.groupBy(events, ({ sub_agent_id: id = "" }) => id)].flatMap(
    ([delegationId, about]) => {
      const failed = failureIn(about);
      if (failed === undefined) return [];
      const { cause } = failed.payload;
      // Every failure of a program comes from outside, except that a recovery finds its process gone.
      const isOfProgram = about.some(isProgram) && cause.code !== "program_gone";
      if ((!isStop(cause) && !isOfProgram) || endedWithCaller(cause)) return [];
      const isForeign = wasEndedFromOutside(about);
      const seq = ends.get(delegationId) ?? failed.seq;
      return { delegationId, cause, isForeign, after: endOf(about), seq };
    },
  );
}

/**
 * The first event of each delegation's end, or of the ends of descendants that ended with it.
 * `withOutput`: its output counts as its end as well, which may be long before its failure.
 */
export function recordedEnds(
  events: readonly StoredEvent[],
  { withOutput = false } = {},
): ReadonlyMap<string, number> {
  const own = Map.groupBy(events, ({ sub_agent_id: id = "" }) => id);
  const children = Map.groupBy(
    events.filter((event) => event.type === "agent.subagent_created"),
    ({ payload }) => payload.parent_id,
  );
  const firstOf = (id: string, types: ReadonlySet<string>): number => {
    const fallen = (children.get(id) ?? []).flatMap(({ sub_agent_id: child = "" }) => {
      const failed = failureIn(own.get(child) ?? []);
      return failed !== undefined && endedWithCaller(failed.payload.cause)
        ? firstOf(child, failing)
        : [];
    });
    const events = own.get(id) ?? [];
    return Math.min(events[endOf(events, types)]?.seq ?? Number.POSITIVE_INFINITY, ...fallen);
  };
  return new Map([...own.keys()].map((id) => [id, firstOf(id, withOutput ? ending : failing)]));
}

/** For each delegation that was ended from outside: how many events it has before that. */
export function endedByOthers(events: readonly StoredEvent[]): ReadonlyMap<string, number> {
  const ended = new Map<string, number>();
  for (const [id, own] of Map.groupBy(events, ({ sub_agent_id: id = "" }) => id)) {
    const failed = failureIn(own);
    if (failed === undefined) continue;
    const { cause } = failed.payload;
    if (isStop(cause) || endedWithCaller(cause)) ended.set(id, endOf(own));
  }
  return ended;
}

function isProgram(event: StoredEvent): boolean {
  return event.type === "agent.subagent_created" && event.payload.client !== undefined;
}

function failureIn(events: readonly StoredEvent[]) {
  return events.find((event) => event.type === "agent.subagent_failed");
}

/** The process that works on a delegation records the requested model in the seal; others cannot. */
function wasEndedFromOutside(events: readonly StoredEvent[]): boolean {
  const closed = events.find((event) => event.type === "agent.subagent_closed");
  return closed !== undefined && closed.payload.seal.requested === undefined;
}

const failing: ReadonlySet<string> = new Set(["agent.subagent_failed"]);
const ending: ReadonlySet<string> = new Set([...failing, "agent.subagent_waiting_for_merge"]);

/** The index at which its end begins: open calls and requests are closed before the failure. */
function endOf(events: readonly StoredEvent[], types = failing): number {
  const index = events.findIndex(({ type }) => types.has(type));
  return index < 0 ? events.length : firstOfEnd(events, index);
}

/** The first of the events before `index` that close what its work had left open. */
export function firstOfEnd(events: readonly StoredEvent[], index: number): number {
  let first = index;
  while (first > 0 && isClosedBeforeEnd(events[first - 1], events[first - 2])) first--;
  return first;
}

function isClosedBeforeEnd(
  event: StoredEvent | undefined,
  before: StoredEvent | undefined,
): boolean {
  switch (event?.type) {
    case "agent.tool_failed":
    case "agent.tool_outcome_unknown":
      return event.payload.cause.code === "delegation_closed";
    case "agent.budget_settled":
      return before?.type !== "agent.model_turn" && event.payload.estimated === true;
    default:
      return false;
  }
}
