import { useEffect } from "react";

/** Again and again while somebody looks: for what changes without an event, as a death does. */
export function useEvery(ms: number, act: () => void): void {
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) act();
    }, ms);
    return () => clearInterval(timer);
  }, [ms, act]);
}
