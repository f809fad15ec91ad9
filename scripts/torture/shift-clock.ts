import type { ClockJump } from "./job.ts";

/** Makes the wall clock of this process wrong. What counts time without it goes on as before. */
export function shiftClock({ offsetMs, jumpMs, afterMs }: ClockJump): void {
  const start = performance.now();
  const Real = Date;
  const now = (): number =>
    Real.now() + offsetMs + (performance.now() - start >= afterMs ? jumpMs : 0);
  globalThis.Date = new Proxy(Real, {
    construct: (target, parameters, self) =>
      Reflect.construct(target, parameters.length === 0 ? [now()] : parameters, self),
    get: (target, key, self) => (key === "now" ? now : Reflect.get(target, key, self)),
  });
}
