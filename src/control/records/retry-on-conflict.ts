import { type Clock, sleep, systemClock } from "../../ports/clock.ts";
import { MandateError } from "../../ports/mandate-error.ts";

const maximumTries = 64;
const maximumWaitMs = 50;

/**
 * For changes that hold whatever the record said before: reads and writes again when another writer
 * wrote in between. Waits for a random while first, or those who met once would meet again.
 */
export async function retryOnConflict<Value>(
  attempt: () => Promise<Value>,
  clock: Clock = systemClock,
): Promise<Value> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await attempt();
    } catch (error) {
      const isConflict = error instanceof MandateError && error.code === "conflict";
      if (!isConflict || tries === maximumTries) throw error;
    }
    await sleep(clock, clock.random() * Math.min(maximumWaitMs, 2 ** tries));
  }
}
