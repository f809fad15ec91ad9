import { copyFileSync, existsSync, mkdirSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { verifyHome } from "../../src/application/verify-home.ts";
import { type Acknowledged, checkStore } from "../../src/events/checker/check-store.ts";
import { openStore, type StoreOptions } from "../../src/open-store.ts";
import type { Store } from "../../src/ports/store.ts";
import { environmentOf } from "./environment-of.ts";
import type { Job } from "./job.ts";
import { openRuntime } from "./open-runtime.ts";
import { differences, type Outcome, readOutcome } from "./outcome.ts";

const databaseOf = (home: string): string => join(home, "mandate.db");

/**
 * Holds the database as a killed process left it against the invariants and against what that
 * process had said. A copy is looked at: opening the original would mend it, and the next process
 * is to find it as it is.
 */
export async function examineCrash(
  job: Job,
  acknowledged: readonly Acknowledged[],
): Promise<string[]> {
  // Reading mends nothing there: what a broken connection left open, the server has taken back.
  if (job.postgres !== undefined)
    return examineStore({ environment: environmentOf(job) }, acknowledged);
  const { home } = job;
  if (!existsSync(databaseOf(home))) {
    return acknowledged.length === 0 ? [] : ["There is no database, and it was written to."];
  }
  const copy = join(home, "crash");
  mkdirSync(copy);
  for (const suffix of ["", "-wal"]) {
    const file = databaseOf(home) + suffix;
    if (existsSync(file)) copyFileSync(file, databaseOf(copy) + suffix);
  }
  // Events refer to artifacts, which are files beside the database.
  symlinkSync(join(home, "artifacts"), join(copy, "artifacts"));
  try {
    const copied = { environment: { MANDATE_HOME: copy }, synchronous: "normal" } as const;
    return await examineStore(copied, acknowledged);
  } finally {
    rmSync(copy, { recursive: true });
  }
}

async function examineStore(
  options: StoreOptions,
  acknowledged: readonly Acknowledged[],
): Promise<string[]> {
  const store = await openStore(options);
  try {
    return await violations(store, acknowledged);
  } finally {
    await store.close();
  }
}

async function violations(store: Store, acknowledged: readonly Acknowledged[]): Promise<string[]> {
  const report = await checkStore(store, { acknowledged });
  return report.violations.map(
    ({ invariant, message, delegationId = "", seq = "" }) =>
      `${invariant} ${delegationId} ${seq}: ${message}`,
  );
}

export interface Examined {
  readonly outcome: Outcome;
  readonly events: number;
  readonly problems: readonly string[];
}

/** Whether there is a run that has not ended; one that never began has nothing left to do either. */
export async function isUnfinished(job: Job): Promise<boolean> {
  const store = await openStore({ environment: environmentOf(job) });
  try {
    const [run] = await store.listRuns({});
    return run === undefined || run.outcome === null;
  } finally {
    await store.close();
  }
}

/** What a run that is done came to, and whether it may have come to that. */
export async function examineRun(
  job: Job,
  acknowledged: readonly Acknowledged[],
  undisturbed: Outcome | undefined,
  mayBeHit: boolean,
): Promise<Examined> {
  const store = await openStore({ environment: environmentOf(job) });
  const outcome = await readOutcome(store, job.workspace);
  const before = await lastSeq(store);
  const problems = [...outcome.problems, ...(await violations(store, acknowledged))];
  if (undisturbed) problems.push(...differences(outcome, undisturbed, mayBeHit));
  await store.close();
  const runtime = await openRuntime(job);
  const again = await runtime.engine.recover();
  await runtime.close();
  const after = await openStore({ environment: environmentOf(job) });
  const added = (await lastSeq(after)) - before;
  const places = { home: job.home, database: databaseOf(job.home) };
  const { violations: strays } = await verifyHome(after, { places, settled: true });
  problems.push(...strays.map(({ invariant, message }) => `${invariant}: ${message}`));
  await after.close();
  if (again.length > 0 || added > 0) problems.push(`A last recovery added ${added} events.`);
  return { outcome, events: before, problems };
}

async function lastSeq(store: Store): Promise<number> {
  let last = 0;
  for await (const { seq } of store.readEvents({})) last = seq;
  return last;
}
