/** For tests: waiting for a condition instead of a duration. */
import { setTimeout as pause } from "node:timers/promises";

/** Far beyond what a busy machine needs, and below the time limit of a test. */
const ceilingMs = 45_000;
const pauseMs = 5;

/**
 * Waits until `look` gives something other than `undefined`, `null` or `false`, and returns it.
 *
 * @example
 * const run = await until("the run ends", async () => {
 *   const row = await store.readRun(runId);
 *   return row?.outcome === null ? undefined : row;
 * });
 */
export async function until<Value>(
  what: string,
  look: () => Value | Promise<Value>,
): Promise<NonNullable<Exclude<Value, false>>> {
  const giveUpAt = performance.now() + ceilingMs;
  for (;;) {
    const value = await look();
    if (value !== undefined && value !== null && value !== false) {
      return value as NonNullable<Exclude<Value, false>>;
    }
    if (performance.now() > giveUpAt) throw new Error(`Waited ${ceilingMs} ms for this: ${what}.`);
    await pause(pauseMs);
  }
}
