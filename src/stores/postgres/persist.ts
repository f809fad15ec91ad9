import { type Clock, sleep } from "../../ports/clock.ts";
import { isPassing } from "../../ports/database-fault.ts";

/** How long a database may be away before those who write to it are told. */
export const defaultPatienceMs = 60_000;

const firstPauseMs = 10;
const longestPauseMs = 1_000;

/**
 * Tries until it succeeds, fails for good, or its time is over; then with the last reason. Pauses
 * double, and differ between processes, so that a database that comes back is not run over.
 */
export async function persist<Result>(
  clock: Clock,
  attempt: () => Promise<Result>,
  patience: () => number,
): Promise<Result> {
  const start = clock.monotonic();
  for (let pause = firstPauseMs; ; pause = Math.min(2 * pause, longestPauseMs)) {
    try {
      return await attempt();
    } catch (error) {
      const left = start + patience() - clock.monotonic();
      if (!isPassing(error) || left <= 0) throw error;
      await sleep(clock, Math.min(left, pause * (0.5 + clock.random())));
    }
  }
}
