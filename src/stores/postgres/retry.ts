import { type Clock, sleep } from "../../ports/clock.ts";
import { isPassing } from "../../ports/database-fault.ts";

/** How long a write is retried while the database is unavailable. */
export const defaultRetryMs = 60_000;

const firstPauseMs = 10;
const longestPauseMs = 1_000;

/**
 * Retries until it succeeds, fails permanently, or its time is over; then it throws the last error.
 * Pauses double and differ between processes, so that a database that restarts is not overloaded.
 */
export async function retry<Result>(
  clock: Clock,
  attempt: () => Promise<Result>,
  retryForMs: () => number,
): Promise<Result> {
  const start = clock.monotonic();
  for (let pause = firstPauseMs; ; pause = Math.min(2 * pause, longestPauseMs)) {
    try {
      return await attempt();
    } catch (error) {
      const left = start + retryForMs() - clock.monotonic();
      if (!isPassing(error) || left <= 0) throw error;
      await sleep(clock, Math.min(left, pause * (0.5 + clock.random())));
    }
  }
}
