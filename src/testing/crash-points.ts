import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Violation } from "../events/checker/check-report.ts";
import { checkStore } from "../events/checker/check-store.ts";
import type { StoredEvent } from "../events/event.ts";
import type { DelegationResult, RunRequest } from "../ports/delegator.ts";
import { createRuntime, type Runtime, type RuntimeOptions } from "../runtime.ts";

export interface CrashPoint {
  /** The last events that were on disk when everything stopped. */
  readonly after: readonly StoredEvent[];
  /** How the run ended once another process had taken it up. */
  readonly result: DelegationResult | null;
  /** What recovering a second time wrote; nothing, if all is well. */
  readonly writtenAgain: number;
  readonly violations: readonly Violation[];
}

/**
 * Runs a task to its end, then once more from every moment at which a killed process could have
 * left it: a copy of the database as it stood after each commit is recovered by a new runtime.
 * The first result is the undisturbed one; a crash should not be seen in any of the others.
 *
 * @example const { points, undisturbed } = await crashPoints({ scripted }, { task: "Count the files" });
 */
export async function crashPoints(
  options: Omit<RuntimeOptions, "consent" | "database" | "environment">,
  request: RunRequest,
): Promise<{ readonly undisturbed: DelegationResult; readonly points: readonly CrashPoint[] }> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "mandate-crash-")));
  const open = (database: string): Promise<Runtime> =>
    createRuntime({
      consent: "named",
      cwd: folder,
      ...options,
      database,
      environment: { MANDATE_HOME: folder },
    });
  try {
    const commits: StoredEvent[][] = [];
    const path = join(folder, "run.db");
    const copyOf = (commit: number): string => join(folder, `${commit}.db`);
    const first = await open(path);
    const reader = new DatabaseSync(path);
    first.store.subscribe((events) => {
      reader.prepare("VACUUM INTO ?").run(copyOf(commits.push([...events]) - 1));
    });
    const { runId, result } = await first.engine.startRun(request);
    const undisturbed = await result;
    reader.close();
    await first.close();
    const points: CrashPoint[] = [];
    for (const [commit, after] of commits.entries()) {
      points.push({ after, ...(await recoverAt(await open(copyOf(commit)), runId)) });
    }
    return { undisturbed, points };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function recoverAt(runtime: Runtime, runId: string): Promise<Omit<CrashPoint, "after">> {
  const { engine, store } = runtime;
  try {
    const taken = await engine.recover();
    const resumed = await countEvents(runtime, "run.resumed");
    await engine.recover();
    const twice = (await countEvents(runtime, "run.resumed")) - resumed;
    for (const { result } of taken) await result;
    const before = await countEvents(runtime);
    await engine.recover();
    const after = await countEvents(runtime);
    const { violations } = await checkStore(store);
    const result = await engine.resultOf(runId);
    return { result, violations, writtenAgain: twice + after - before };
  } finally {
    await runtime.close();
  }
}

async function countEvents({ store }: Runtime, type?: StoredEvent["type"]): Promise<number> {
  let count = 0;
  for await (const event of store.readEvents({})) {
    if (type === undefined || event.type === type) count++;
  }
  return count;
}
