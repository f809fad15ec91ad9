import { setTimeout as wait } from "node:timers/promises";
import { isPassing } from "../../ports/database-fault.ts";

/** How long a database may be away before those who write to it are told. */
export const defaultPatienceMs = 60_000;

const firstPauseMs = 10;
const longestPauseMs = 1_000;

/**
 * Tries until it succeeds, fails for good, or patience ends; then with the last reason. Pauses
 * double, and differ between processes, so that a database that comes back is not run over.
 */
export async function persist<Result>(
  attempt: () => Promise<Result>,
  patience: () => number = () => defaultPatienceMs,
): Promise<Result> {
  const start = performance.now();
  for (let pause = firstPauseMs; ; pause = Math.min(2 * pause, longestPauseMs)) {
    try {
      return await attempt();
    } catch (error) {
      const left = start + patience() - performance.now();
      if (!isPassing(error) || left <= 0) throw error;
      await wait(Math.min(left, pause * (0.5 + Math.random())));
    }
  }
}
