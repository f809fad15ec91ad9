import type { Clock } from "../ports/clock.ts";

/** Waits for `event`, but no longer than `ms`. */
export async function waitAtMost(clock: Clock, ms: number, event: Promise<unknown>): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const timer = clock.after(ms, resolve);
  try {
    await Promise.race([event, late]);
  } finally {
    timer.cancel();
  }
}
