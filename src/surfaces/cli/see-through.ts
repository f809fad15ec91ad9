import { isPaused } from "../../events/run-state.ts";
import type { Store } from "../../ports/store.ts";
import type { Work } from "./work-on.ts";

/**
 * Works on runs that were resumed beside the new work, when that has ended. Only with a person
 * there, who can leave at any time: a script waits for its own result, and for nothing else.
 */
export async function seeThrough(
  runs: ReadonlyMap<string, Promise<unknown>>,
  { runtime, io, display }: Pick<Work, "runtime" | "io" | "display">,
  ended: string,
  left: Promise<void>,
): Promise<void> {
  if (io.ask === undefined || !io.stdout.isTerminal) return;
  const open = await openAmong(runs.keys(), runtime.store);
  if (open.length === 0) return;
  display.say(
    `${ended} has ended. Still working on ${open.join(", ")}; Ctrl-C leaves that for another time.`,
  );
  await Promise.race([Promise.all(runs.values()), left]);
}

/** No process works on these once this one has ended. */
export async function sayLeft(
  runs: Iterable<string>,
  { runtime, io, display }: Pick<Work, "runtime" | "io" | "display">,
): Promise<void> {
  for (const id of await openAmong(runs, runtime.store)) {
    display.say(`${id} is not finished. Resume: ${io.program} resume ${id}`);
  }
}

/** Without those that rest, and those that another process has taken over. */
async function openAmong(runs: Iterable<string>, store: Store): Promise<readonly string[]> {
  const open: string[] = [];
  for (const id of runs) {
    const run = await store.readRun(id);
    if (run === undefined || run.outcome !== null || isPaused(run)) continue;
    if (run.spread !== null || run.worker === store.ownership.worker) open.push(id);
  }
  return open;
}
