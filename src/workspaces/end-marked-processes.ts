import { type Clock, sleep, systemClock } from "../ports/clock.ts";
import { lookForMarked } from "./delegation-mark.ts";
import { signalProcess } from "./sandbox/process-tree.ts";

/** What cannot be ended for so long hangs in the kernel, and does nothing meanwhile. */
const patienceMs = 2000;
/** On a busy machine processes come and go all the time, nearly all of them nothing to us. */
const mostDoubts = 20;

/**
 * Ends the processes that bear the marks of these delegations. When it resolves they are gone, and
 * so is whatever they started while they were being looked for: it looks until there are none.
 */
export async function endMarkedProcesses(
  database: string,
  delegations: { has(id: string): boolean },
  clock: Clock = systemClock,
): Promise<void> {
  const began = clock.monotonic();
  const ended = new Set<number>();
  let doubts = 0;
  for (let waitMs = 1; clock.monotonic() - began < patienceMs; ) {
    let isFree = true;
    const end = (delegationId: string, pid: number): void => {
      if (!delegations.has(delegationId)) return;
      signalProcess(pid, "SIGKILL");
      isFree = false;
    };
    const hasSeenAll = lookForMarked(database, end, ended);
    if (isFree && (hasSeenAll || ++doubts >= mostDoubts)) return;
    if (isFree) continue;
    doubts = 0;
    // Some of them take a moment to go.
    await sleep(clock, waitMs);
    waitMs = Math.min(waitMs * 2, 20);
  }
}
