import { useEffect } from "react";
import { useValue, ValueStore } from "./value-store.ts";

const now = new ValueStore(Date.now());
let watchers = 0;
let timer: ReturnType<typeof setInterval> | undefined;
const still = new ValueStore(0);

/** The time, once a second; all clocks change together. Zero where no clock is shown. */
export function useNow(isRunning: boolean): number {
  const value = useValue(isRunning ? now : still);
  useEffect(() => {
    if (!isRunning) return;
    now.set(Date.now());
    watchers += 1;
    timer ??= setInterval(() => now.set(Date.now()), 1000);
    return () => {
      watchers -= 1;
      if (watchers > 0) return;
      clearInterval(timer);
      timer = undefined;
    };
  }, [isRunning]);
  return value;
}
