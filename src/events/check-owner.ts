import { MandateError } from "../ports/mandate-error.ts";
import type { Append, Ownership } from "../ports/store.ts";
import type { Delegation } from "./delegation.ts";
import type { NewEvent } from "./event.ts";
import type { RunState } from "./run-state.ts";

/**
 * The write guard of every store. Throws "conflict" when the run has events that the writer has not
 * read, and "fenced" when the writer does not own what it writes about. Imports run state only.
 */
export function checkOwner(run: RunState, append: Append): void {
  const { by, declaresDead, events, ifRunSeq } = append;
  if (ifRunSeq !== undefined && ifRunSeq !== run.lastRunSeq) {
    throw new MandateError(
      "conflict",
      `Run ${run.id} has new events since it was read. Read it again.`,
    );
  }
  if (run.spread !== null) requireOpenRequests(run, events);
  if (declaresDead !== undefined) requireClaims(run, declaresDead, events);
  if (by === "operator" || events[0]?.type === "run.started") return;
  if (run.spread !== null) {
    checkShares(run, by, events);
    return;
  }
  // A claim is itself an append of the new owner, with the next fence.
  if (events[0]?.type === "run.resumed" && by.fence === run.fence + 1) return;
  if (!isOwner(by, run)) throw fenced(`Run ${run.id}`);
}

/** What a dead worker had is settled for it only until another worker has claimed it. */
function requireClaims(run: RunState, worker: string, events: readonly NewEvent[]): void {
  for (const { sub_agent_id: id = "" } of events) {
    if (run.delegations.get(id)?.share?.worker === worker) continue;
    throw new MandateError("conflict", `Delegation ${id} was claimed by another worker.`);
  }
}

/**
 * In a distributed run any worker settles the request of a dead one, and a request is settled once:
 * the second writer, the dead one included, reads the log again.
 */
function requireOpenRequests(run: RunState, events: readonly NewEvent[]): void {
  const reserved = new Set<string>();
  for (const { payload, sub_agent_id: id, type } of events) {
    if (type !== "agent.budget_reserved" && type !== "agent.budget_settled") continue;
    const { request } = payload;
    if (type === "agent.budget_reserved") reserved.add(`${id} ${request}`);
    if (type === "agent.budget_reserved" || reserved.has(`${id} ${request}`)) continue;
    const delegation = run.delegations.get(id ?? "");
    const open = delegation?.status === "running" ? delegation.reservations : [];
    if (open.some((one) => one.request === request)) continue;
    throw new MandateError(
      "conflict",
      `Request ${payload.request} of ${id} was settled by another process. Read the run again.`,
    );
  }
}

/** In a distributed run only the worker of a delegation may write events about it. */
function checkShares(run: RunState, by: Ownership, events: readonly NewEvent[]): void {
  /** Delegations that this append creates, with their parent; then those that it claims. */
  const above = new Map<string, string | null>();
  const claimed = new Set<string>();
  for (const event of events) {
    const { sub_agent_id: id } = event;
    if (event.type === "agent.claimed" && id !== undefined) {
      // The fold checks that the fence is the next one, so the loser of a race is refused.
      if (!isOwner(by, event.payload) || isSuspended(run, id)) throw fenced(`Delegation ${id}`);
      claimed.add(id);
      continue;
    }
    if (event.type === "agent.subagent_created" && id !== undefined) {
      above.set(id, event.payload.parent_id);
    }
    const about = subjectOf(run, event);
    const named = about !== null && above.has(about) ? (above.get(about) ?? null) : about;
    if (named !== null && claimed.has(named)) continue;
    const isReleased = named !== null && wasReleased(run.delegations.get(named));
    if (isReleased || !isOwner(by, ownerOf(run, named)))
      throw fenced(`Delegation ${named ?? id ?? run.id}`);
  }
}

/** Whether the delegation was suspended or interrupted, and no worker has claimed it since. */
function wasReleased(delegation: Delegation | undefined): boolean {
  if (delegation?.status !== "running") return false;
  return delegation.share?.worker === null && delegation.share.fence > 0;
}

/** Whether a delegation is suspended, or one above it: no worker works on it until a person resumes. */
export function isSuspended(run: RunState, id: string): boolean {
  for (let one = run.delegations.get(id); one !== undefined; ) {
    if (one.status === "running" && one.waitingOn.on === "paused") return true;
    if (one.status === "waiting_for_merge" && one.isPaused === true) return true;
    one = one.parentId === null ? undefined : run.delegations.get(one.parentId);
  }
  return false;
}

/** The delegation whose worker may write the event; null: the root. */
function subjectOf(run: RunState, event: NewEvent): string | null {
  if (event.sub_agent_id !== undefined) return event.sub_agent_id;
  if (event.type === "run.planned") return event.payload.by;
  return event.type === "run.late_result" && run.delegations.has(event.payload.sub_agent_id)
    ? event.payload.sub_agent_id
    : null;
}

/**
 * The owner of a delegation in a distributed run: the worker that claimed it, or else the owner of its
 * caller. Watchers, which have no caller, belong to the root's owner, and the root to the run's.
 */
export function ownerOf(run: RunState, id: string | null): Ownership {
  for (let one = id === null ? undefined : run.delegations.get(id); one !== undefined; ) {
    const { parentId, share } = one;
    if (share !== undefined && share.worker !== null) {
      return { worker: share.worker, fence: share.fence };
    }
    one = parentId === null ? undefined : run.delegations.get(parentId);
  }
  const [root] = run.delegations.values();
  const { share } = root ?? {};
  if (share === undefined || share.worker === null) return run;
  return { worker: share.worker, fence: share.fence };
}

/** Whether `by` owns a delegation, according to the log. */
export function owns(by: Ownership, run: RunState, id: string): boolean {
  return isOwner(by, ownerOf(run, id));
}

function isOwner(by: Ownership, owner: Ownership): boolean {
  return by.worker === owner.worker && by.fence === owner.fence;
}

function fenced(what: string): MandateError {
  return new MandateError("fenced", `${what} is now worked on by another process.`);
}
