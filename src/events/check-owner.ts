import { MandateError } from "../ports/mandate-error.ts";
import type { Append, Ownership } from "../ports/store.ts";
import type { NewEvent } from "./event.ts";
import type { RunState } from "./run-state.ts";

/**
 * Throws unless the writer may append: the run has not moved past what they decided by, and they
 * still own what they write about. The same in every store.
 */
export function checkOwner(run: RunState, { by, events, ifRunSeq }: Append): void {
  if (ifRunSeq !== undefined && ifRunSeq !== run.lastRunSeq) {
    throw new MandateError("conflict", `Run ${run.id} has moved on in the meantime.`);
  }
  if (by === "operator" || events[0]?.type === "run.started") return;
  if (run.spread !== null) {
    checkShares(run, by, events);
    return;
  }
  // Taking a run over is itself an append, by its new owner, one fence higher.
  if (events[0]?.type === "run.resumed" && by.fence === run.fence + 1) return;
  if (!isOwner(by, run)) throw fenced(`Run ${run.id}`);
}

/** Where a run is spread, everything that is written about a delegation is its worker's to write. */
function checkShares(run: RunState, by: Ownership, events: readonly NewEvent[]): void {
  /** Who is made, or claimed, in this very append. */
  const above = new Map<string, string | null>();
  const claimed = new Set<string>();
  for (const event of events) {
    const { sub_agent_id: id } = event;
    if (event.type === "agent.claimed" && id !== undefined) {
      // Whether the fence is the next one is for the fold to say: the loser of a race is refused.
      if (!isOwner(by, event.payload)) throw fenced(`Delegation ${id}`);
      claimed.add(id);
      continue;
    }
    if (event.type === "agent.subagent_created" && id !== undefined) {
      above.set(id, event.payload.parent_id);
    }
    const about = aboutWhom(run, event);
    const named = about !== null && above.has(about) ? (above.get(about) ?? null) : about;
    if (named !== null && claimed.has(named)) continue;
    if (!isOwner(by, ownerOf(run, named))) throw fenced(`Delegation ${named ?? id ?? run.id}`);
  }
}

/** Whose worker may write it; null: the root's. */
function aboutWhom(run: RunState, event: NewEvent): string | null {
  if (event.sub_agent_id !== undefined) return event.sub_agent_id;
  if (event.type === "run.planned") return event.payload.by;
  return event.type === "run.late_result" && run.delegations.has(event.payload.sub_agent_id)
    ? event.payload.sub_agent_id
    : null;
}

/**
 * The worker of a delegation of a distributed run: the one that has claimed it, or else the worker of
 * its caller. Watchers, which have no caller, go with the root, and the root with the run.
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

/** Whether the owner of a delegation, by the log, is the one that asks. */
export function owns(by: Ownership, run: RunState, id: string): boolean {
  return isOwner(by, ownerOf(run, id));
}

function isOwner(by: Ownership, owner: Ownership): boolean {
  return by.worker === owner.worker && by.fence === owner.fence;
}

function fenced(what: string): MandateError {
  return new MandateError("fenced", `${what} is now worked on by another process.`);
}
