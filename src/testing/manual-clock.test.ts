import { expect, it } from "vitest";
import { sleep, timeoutSignal } from "../ports/clock.ts";
import { ManualClock } from "./manual-clock.ts";

it("stands still until it is told to move, and calls timers in the order of their time", async () => {
  const clock = new ManualClock({ now: 1000 });
  const called: string[] = [];
  clock.after(30, () => called.push(`late at ${clock.monotonic()}`));
  clock.after(10, () => called.push(`soon at ${clock.monotonic()}`));
  clock.after(10, () => called.push("never")).cancel();
  clock.every(20, () => called.push(`again at ${clock.monotonic()}`));
  await clock.advance(45);
  expect(called).toEqual(["soon at 10", "again at 20", "late at 30", "again at 40"]);
  expect([clock.now(), clock.monotonic(), clock.waiting]).toEqual([1045, 45, 1]);
});

it("calls what a timer set while time moved", async () => {
  const clock = new ManualClock();
  const at: number[] = [];
  clock.after(10, () => clock.after(10, () => at.push(clock.monotonic())));
  await clock.advance(20);
  expect(at).toEqual([20]);
});

it("ends a sleep at its time, or with the reason of an abort", async () => {
  const clock = new ManualClock();
  const slept = sleep(clock, 1000);
  const stop = new AbortController();
  const stopped = sleep(clock, 1000, stop.signal);
  stop.abort(new Error("enough"));
  await expect(stopped).rejects.toThrow("enough");
  await expect(sleep(clock, 1000, stop.signal)).rejects.toThrow("enough");
  await clock.advance(1000);
  await slept;
  expect(clock.waiting).toBe(0);
});

it("aborts a signal at its time", async () => {
  const clock = new ManualClock();
  const signal = timeoutSignal(clock, 50);
  await clock.advance(49);
  expect(signal.aborted).toBe(false);
  await clock.advance(1);
  expect(signal.reason).toMatchObject({ name: "TimeoutError" });
});

it("repeats the same chance for the same seed", () => {
  const draw = (seed: number) => {
    const clock = new ManualClock({ seed });
    return Array.from({ length: 100 }, () => clock.random());
  };
  expect(draw(7)).toEqual(draw(7));
  expect(draw(7)).not.toEqual(draw(8));
  expect(draw(7).every((one) => one >= 0 && one < 1)).toBe(true);
});
