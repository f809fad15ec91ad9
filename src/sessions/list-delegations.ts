import type { Delegation } from "../events/delegation.ts";
import type { RunState } from "../events/run-state.ts";
import { MandateError } from "../ports/mandate-error.ts";
import type { Store } from "../ports/store.ts";
import { readRunOf } from "./read-run.ts";

export interface DelegationQuery {
  readonly runId?: string | undefined;
  readonly open?: boolean | undefined;
  readonly profile?: string | undefined;
  readonly limit: number;
  /** Delegations after this place in the list. */
  readonly after?: DelegationPlace | undefined;
}

/** A place in the list: after this delegation, or after all of the run (null). */
export interface DelegationPlace {
  readonly runId: string;
  readonly delegationId: string | null;
}

export interface FoundDelegation {
  readonly run: RunState;
  readonly delegation: Delegation;
}

export interface DelegationPage {
  readonly found: readonly FoundDelegation[];
  /** Null: this is the last page. */
  readonly next: DelegationPlace | null;
}

/** Bounds the work for one page, so that a filter without matches does not read every log. */
const mostRuns = 200;
const mostLookedAt = 2000;

/**
 * Delegations of all runs, newest run first, within a run in the order of creation. A page can have fewer
 * than `limit`, or none, without being the last.
 */
export async function listDelegations(
  store: Store,
  query: DelegationQuery,
): Promise<DelegationPage> {
  const { after, limit } = query;
  const { ids, isLast } = await runsOf(store, query);
  const found: FoundDelegation[] = [];
  let looked = 0;
  let seen: DelegationPlace | null = null;
  for (const id of ids) {
    if (looked >= mostLookedAt) return { found, next: seen };
    const run = await readOne(store, id, query);
    let isPast = after?.runId !== id || after.delegationId === null;
    for (const delegation of run?.delegations.values() ?? []) {
      if (run && isPast && isWanted(delegation, query)) {
        if (found.length === limit) return { found, next: placeOf(found.at(-1)) };
        found.push({ run, delegation });
      }
      if (delegation.id === after?.delegationId) isPast = true;
    }
    looked += run?.delegations.size ?? 0;
    seen = { runId: id, delegationId: null };
  }
  return { found, next: isLast ? null : seen };
}

async function runsOf(
  store: Store,
  { after, open, runId }: DelegationQuery,
): Promise<{ readonly ids: readonly string[]; readonly isLast: boolean }> {
  if (runId !== undefined) return { ids: [runId], isLast: true };
  const rows = await store.listRuns({
    limit: mostRuns,
    ...(open === true && { open }),
    ...(after && { before: after.runId }),
  });
  const begun = after && after.delegationId !== null ? [after.runId] : [];
  return { ids: [...begun, ...rows.map(({ id }) => id)], isLast: rows.length < mostRuns };
}

/** Skips a damaged log, unless only this run was requested. */
async function readOne(
  store: Store,
  id: string,
  { runId }: DelegationQuery,
): Promise<RunState | undefined> {
  try {
    return await readRunOf(store, id);
  } catch (error) {
    const isClosed = error instanceof MandateError && error.code === "closed";
    if (isClosed || runId !== undefined) throw error;
    return undefined;
  }
}

function isWanted(
  { profile, status }: Delegation,
  { open, profile: wanted }: DelegationQuery,
): boolean {
  if (open !== undefined && (status !== "closed") !== open) return false;
  return wanted === undefined || profile === wanted;
}

function placeOf(last: FoundDelegation | undefined): DelegationPlace | null {
  return last === undefined ? null : { runId: last.run.id, delegationId: last.delegation.id };
}
