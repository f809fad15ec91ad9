import type { Result } from "@modelcontextprotocol/server";
import type { Principal } from "../../../control/records/principal.ts";
import type { Clock } from "../../../ports/clock.ts";
import type { LiveTask } from "./live-task.ts";

export interface TaskBeginning {
  readonly owner: Principal;
  readonly tool: string;
  /** It will say what it delegated, and the task is to be found by that. */
  readonly delegates?: boolean | undefined;
  /** The client's request: as long as it is not answered, taking it back takes the call back. */
  readonly signal: AbortSignal;
  work(task: LiveTask): Promise<Result>;
}

/** Gives the result of a call, or throws what it threw. */
export type Finished = () => { readonly result: Result };

/** A call that is slow to delegate becomes a task of this process alone, rather than hang. */
const namingMs = 5000;

/** Begins a call, and gives its result if that comes at once; later: it has become a task. */
export async function beginWork(
  live: LiveTask,
  { delegates = false, signal, work }: TaskBeginning,
  graceMs: number,
  clock: Clock,
): Promise<{ readonly result: Result } | { readonly later: Promise<Finished> }> {
  const takeBack = (): void => live.cancel("The client took its request back.");
  const isTask = new Promise<"task">((resolve) => {
    live.onTask = () => resolve("task");
  });
  const grace = clock.after(graceMs, () => live.endGrace(delegates));
  const limit = clock.after(graceMs + namingMs, () => live.endGrace(false));
  signal.addEventListener("abort", takeBack, { once: true });
  try {
    const later = settle(work(live));
    const first = await Promise.race([later, isTask]);
    return first === "task" ? { later } : first();
  } finally {
    signal.removeEventListener("abort", takeBack);
    grace.cancel();
    limit.cancel();
  }
}

/** So that a call which fails while nobody waits for it is no unhandled rejection. */
async function settle(work: Promise<Result>): Promise<Finished> {
  try {
    const result = await work;
    return () => ({ result });
  } catch (error) {
    return () => {
      throw error;
    };
  }
}
