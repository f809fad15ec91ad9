import type { CloseReason } from "../../events/close-reason.ts";
import type { EventPayloads, StoredEvent } from "../../events/event.ts";

/** An end that came from outside: a person, a deadline, a disk, another process. */
export interface RecordedStop {
  readonly delegationId: string;
  readonly code: CloseReason;
  readonly error: string;
  /** Written by somebody beside the process that worked on it. */
  readonly isForeign: boolean;
  /** How many events of its own it has before its end begins. */
  readonly after: number;
  /** The first event of its end, or of the end of those that fell with it. */
  readonly seq: number;
}

type Failed = EventPayloads["agent.subagent_failed"];

/** Whether a delegation failed for something that its own work does not lead to again. */
export function isStop({ code, error }: Failed): boolean {
  switch (code) {
    case "cancelled":
    case "storage_full":
      return true;
    case "timeout":
      return !error.startsWith("The model gave no ");
    case "worker_lost":
      return !recovered.some((sentence) => error.startsWith(sentence));
    case "policy_denied":
      return !judged.some((sentence) => sentence.test(error));
    default:
      return false;
  }
}

/** What recovery decides by itself. */
const recovered = ["It was taken up ", "Its working copy is gone."];
const judged = [
  /^\d+ calls in a row were refused by the contract\.$/,
  /^The turn was refused: /,
  /^It changed /,
  /^The plan was not run\. /,
  /^A person did not want its changes merged\.$/,
  /^Nobody said in time that its changes may be merged\.$/,
];

/** An attempt that ended because its time was over, and what it was doing with it. */
export interface RecordedCut {
  readonly message: string;
  /** How many events of its own the delegation has before that. */
  readonly after: number;
  readonly seq: number;
}

export function isCut({ reason, what }: EventPayloads["agent.retried"]): boolean {
  return what === "attempt" && reason.startsWith("timeout: An attempt took longer than ");
}

/** From the events of one delegation. */
export function recordedCuts(events: readonly StoredEvent[]): readonly RecordedCut[] {
  return events.flatMap((event, index) => {
    if (event.type !== "agent.retried" || !isCut(event.payload)) return [];
    let after = index;
    while (after > 0 && isLoose(events[after - 1], events[after - 2])) after--;
    const message = event.payload.reason.replace(/^timeout: /, "");
    return { message, after, seq: events[after]?.seq ?? event.seq };
  });
}

/** A moment at which a delegation was told to rest, or its caller stopped. */
export interface RecordedRest {
  readonly event: StoredEvent<"agent.paused"> | StoredEvent<"agent.interrupted">;
  /** How many events of its own it has before that. */
  readonly after: number;
  readonly seq: number;
}

/** From the events of one delegation. Who was interrupted rests by itself, once others have ended. */
export function recordedRests(events: readonly StoredEvent[]): readonly RecordedRest[] {
  let isInterrupted = false;
  return events.flatMap((event, index): RecordedRest[] => {
    if (event.type === "agent.resumed") isInterrupted = false;
    if (event.type === "agent.interrupted") {
      isInterrupted = true;
      if (event.payload.resumed === true) return [];
      return [{ event, after: index, seq: event.seq }];
    }
    if (event.type !== "agent.paused" || event.payload.reason === "budget") return [];
    if (isInterrupted) return [];
    let after = index;
    while (after > 0 && isLoose(events[after - 1], events[after - 2])) after--;
    return [{ event, after, seq: events[after]?.seq ?? event.seq }];
  });
}

/** It fell with its caller, in one transaction with it. */
function fellWithCaller({ code, error }: Failed): boolean {
  return code === "parent_closed" || /^Its caller was (?:cancelled|ended)\.$/.test(error);
}

/** The ends from outside, without those of delegations that only fell with others. */
export function recordedStops(events: readonly StoredEvent[]): readonly RecordedStop[] {
  const ends = recordedEnds(events);
  return [...Map.groupBy(events, ({ sub_agent_id: id = "" }) => id)].flatMap(
    ([delegationId, about]) => {
      const failed = failureIn(about);
      if (failed === undefined || !isStop(failed.payload)) return [];
      if (fellWithCaller(failed.payload)) return [];
      const { code, error } = failed.payload;
      const isForeign = wasEndedBeside(about);
      const seq = ends.get(delegationId) ?? failed.seq;
      return { delegationId, code, error, isForeign, after: endOf(about), seq };
    },
  );
}

/**
 * The first event of each delegation's end, or of the ends of those that fell with it. `closing`:
 * where it began to end by its own work, which may be long before.
 */
export function recordedEnds(
  events: readonly StoredEvent[],
  closing = false,
): ReadonlyMap<string, number> {
  const own = Map.groupBy(events, ({ sub_agent_id: id = "" }) => id);
  const children = Map.groupBy(
    events.filter((event) => event.type === "agent.subagent_created"),
    ({ payload }) => payload.parent_id,
  );
  const firstOf = (id: string, types: ReadonlySet<string>): number => {
    const fallen = (children.get(id) ?? []).flatMap(({ sub_agent_id: child = "" }) => {
      const failed = failureIn(own.get(child) ?? []);
      return failed !== undefined && fellWithCaller(failed.payload) ? firstOf(child, failing) : [];
    });
    const events = own.get(id) ?? [];
    return Math.min(events[endOf(events, types)]?.seq ?? Number.POSITIVE_INFINITY, ...fallen);
  };
  return new Map([...own.keys()].map((id) => [id, firstOf(id, closing ? ending : failing)]));
}

/** Of delegations that others ended: how many events of their own they have before that. */
export function endedByOthers(events: readonly StoredEvent[]): ReadonlyMap<string, number> {
  const ended = new Map<string, number>();
  for (const [id, own] of Map.groupBy(events, ({ sub_agent_id: id = "" }) => id)) {
    const failed = failureIn(own);
    if (failed === undefined) continue;
    if (isStop(failed.payload) || fellWithCaller(failed.payload)) ended.set(id, endOf(own));
  }
  return ended;
}

function failureIn(events: readonly StoredEvent[]) {
  return events.find((event) => event.type === "agent.subagent_failed");
}

/** The process that works on a delegation knows which model its contract asks for. */
function wasEndedBeside(events: readonly StoredEvent[]): boolean {
  const closed = events.find((event) => event.type === "agent.subagent_closed");
  return closed !== undefined && closed.payload.seal.requested === undefined;
}

const failing: ReadonlySet<string> = new Set(["agent.subagent_failed"]);
const ending: ReadonlySet<string> = new Set([...failing, "agent.subagent_waiting_for_merge"]);

/** Where its end begins: what was under way is brought to an end first. */
function endOf(events: readonly StoredEvent[], types = failing): number {
  let index = events.findIndex(({ type }) => types.has(type));
  while (index > 0 && isLoose(events[index - 1], events[index - 2])) index--;
  return index < 0 ? events.length : index;
}

function isLoose(event: StoredEvent | undefined, before: StoredEvent | undefined): boolean {
  switch (event?.type) {
    case "agent.tool_failed":
    case "agent.tool_outcome_unknown":
      return event.payload.error.startsWith("Interrupted: ");
    case "agent.budget_settled":
      return before?.type !== "agent.model_turn" && event.payload.estimated === true;
    default:
      return false;
  }
}
