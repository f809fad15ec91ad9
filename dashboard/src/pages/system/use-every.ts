import { useEffect } from "react";

/** Repeats while the page is visible: for changes without an event, such as the death of a worker. */
export function useEvery(ms: number, act: () => void): void {
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) act();
    }, ms);
    return () => clearInterval(timer);
  }, [ms, act]);
}
