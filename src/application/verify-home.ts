import type { CheckReport, Violation } from "../events/checker/check-report.ts";
import { type CheckOptions, checkStore } from "../events/checker/check-store.ts";
import type { CheckedDelegation } from "../events/checker/checked-run.ts";
import { type Clock, sleep, systemClock } from "../ports/clock.ts";
import type { Store } from "../ports/store.ts";
import {
  checkWorld,
  lookAtWorld,
  type World,
  type WorldOptions,
} from "../workspaces/check-world.ts";

export interface VerifyOptions
  extends Pick<CheckOptions, "acknowledged" | "against" | "runId">,
    WorldOptions {
  /**
   * The home with working copies, and its database. Null: the store belongs to no home, so nothing
   * beside it can be checked.
   */
  readonly places: { readonly home: string; readonly database: string } | null;
  readonly clock?: Clock;
}

/** A process that was signalled may need a moment to end. */
const waitsMs = [0, 50, 200];

/**
 * Checks the log, and the copies, merges and processes beside it, against the invariants. Safe
 * while processes run: a violation outside of the log must exist both before and after the log is
 * read.
 *
 * @example const { violations } = await verifyHome(store, { places: null });
 */
export async function verifyHome(store: Store, options: VerifyOptions): Promise<CheckReport> {
  const { acknowledged, against, clock = systemClock, places, runId, settled = false } = options;
  const chosen = {
    ...(runId !== undefined && { runId }),
    ...(acknowledged && { acknowledged }),
    ...(against && { against }),
  };
  if (places === null) return checkStore(store, chosen);
  const before = lookAtWorld(places);
  const concerned: CheckedDelegation[] = [];
  const isConcerned = concernedBy(before);
  const report = await checkStore(store, {
    ...chosen,
    onDelegation(delegation) {
      if (isConcerned(delegation)) concerned.push(delegation);
    },
  });
  const check = (world: World): readonly Violation[] =>
    // With a single run, it is unknown which files belong to no run.
    checkWorld(world, concerned, { settled }).filter(
      (violation) => runId === undefined || violation.runId === runId,
    );
  let found = check(before);
  for (const waitMs of waitsMs) {
    if (found.length === 0) break;
    await sleep(clock, waitMs);
    found = both(found, check(lookAtWorld(places)));
  }
  const violations = [...report.violations, ...found];
  return { ...report, ok: violations.length === 0, violations };
}

/** Selects delegations that a copy, merge or process names, or that need one: few among many. */
function concernedBy({ copies, merges, processes }: World) {
  const ids = new Set([...copies, ...merges].map(({ id }) => id));
  return ({ copyId, id, status }: CheckedDelegation): boolean =>
    ids.has(id) || processes.has(id) || (copyId !== null && (ids.has(copyId) || status === "open"));
}

function both(left: readonly Violation[], right: readonly Violation[]): readonly Violation[] {
  const said = new Set(right.map((violation) => JSON.stringify(violation)));
  return left.filter((violation) => said.has(JSON.stringify(violation)));
}
