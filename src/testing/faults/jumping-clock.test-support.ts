import { type Clock, systemClock } from "../../ports/clock.ts";

/** Is what the machine's is until it jumps; what passes goes on passing. */
export function jumpingClock(by: number): Clock & { jump(): void } {
  let off = 0;
  return {
    ...systemClock,
    now: () => systemClock.now() + off,
    jump() {
      off = by;
    },
  };
}
