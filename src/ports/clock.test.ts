import { afterEach, expect, it, vi } from "vitest";
import { systemClock } from "./clock.ts";

afterEach(() => vi.useRealTimers());

it("waits longer than one timer can hold", () => {
  vi.useFakeTimers();
  const fired = vi.fn();
  const month = 31 * 24 * 60 * 60 * 1000;
  systemClock.after(month, fired).unref();
  vi.advanceTimersByTime(month - 1);
  expect(fired).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  expect(fired).toHaveBeenCalledOnce();
});

it("repeats until it is cancelled, also by what it calls", () => {
  vi.useFakeTimers();
  const fired = vi.fn(() => fired.mock.calls.length === 3 && timer.cancel());
  const timer = systemClock.every(10, fired);
  vi.advanceTimersByTime(1000);
  expect(fired).toHaveBeenCalledTimes(3);
});
