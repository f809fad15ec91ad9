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
   * Where working copies lie, and the database that they belong to. Null: it is no home's own, and
   * nothing beside it can be told to be its.
   */
  readonly places: { readonly home: string; readonly database: string } | null;
  readonly clock?: Clock;
}

/** A process that was told to end may need a moment for it. */
const waitsMs = [0, 50, 200];

/**
 * Holds the log, and the world beside it, against the invariants. It can run beside a product at
 * work: what it says of the world was so before the log was read, by the log, and still afterwards.
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
    // From one run alone it cannot be decided what belongs to no run.
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

/** Those that something in the world speaks of, or that need something in it: few among many. */
function concernedBy({ copies, merges, processes }: World) {
  const ids = new Set([...copies, ...merges].map(({ id }) => id));
  return ({ copyId, id, status }: CheckedDelegation): boolean =>
    ids.has(id) || processes.has(id) || (copyId !== null && (ids.has(copyId) || status === "open"));
}

function both(left: readonly Violation[], right: readonly Violation[]): readonly Violation[] {
  const said = new Set(right.map((violation) => JSON.stringify(violation)));
  return left.filter((violation) => said.has(JSON.stringify(violation)));
}
