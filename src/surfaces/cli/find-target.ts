import { statSync } from "node:fs";
import { resolve } from "node:path";
import { tellPruned } from "../../events/pruned-runs.ts";
import { realPathOr } from "../../files.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import type { Store } from "../../ports/store.ts";
import { listSessions } from "../../sessions/list-sessions.ts";
import type { Arguments } from "./command.ts";
import type { Io } from "./io.ts";

/** What an id on the command line means. */
export interface Target {
  readonly runId: string;
  /** Null: the run as a whole. */
  readonly delegationId: string | null;
}

/** The run, delegation or question of that id; without one, the latest run. */
export async function findTarget(store: Store, id: string | undefined, io: Io): Promise<Target> {
  if (id === undefined) {
    const [latest] = await store.listRuns({ limit: 1 });
    if (latest) return { runId: latest.id, delegationId: null };
    throw new MandateError(
      "unknown-run",
      `There are no runs yet. Start one: ${io.program} run "…"`,
    );
  }
  const runId = await store.findRun(id);
  if (runId === undefined) {
    const shown = JSON.stringify(id.slice(0, 40));
    throw new MandateError(
      "unknown-run",
      (await tellPruned(store, id)) ??
        `There is no run or delegation ${shown} here. ${io.program} ls lists the runs.`,
    );
  }
  const run = id === runId ? undefined : await store.readRun(runId);
  return { runId, delegationId: run?.delegations.has(id) ? id : null };
}

/** The folder that a run works in: --workspace, or the current folder. */
export function findFolder(given: Arguments, io: Io): string {
  const path = resolve(io.cwd, given.text("workspace") ?? ".");
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats?.isDirectory()) return path;
  const problem = stats === undefined ? "does not exist" : "is not a folder";
  throw new MandateError("usage", `The workspace ${path} ${problem}.`);
}

/** The given session id, or the latest session of a folder. */
export async function findSession(
  store: Store,
  id: string | undefined,
  folder: string,
  io: Io,
): Promise<string> {
  if (id !== undefined) return id;
  // Runs store real paths.
  const [latest] = await listSessions(store, { workspace: realPathOr(folder), limit: 1 });
  if (latest !== undefined) return latest.id;
  throw new MandateError(
    "unknown-run",
    `There is no session in this folder yet. Start one: ${io.program} run "…". Others: ${io.program} sessions --all`,
  );
}
