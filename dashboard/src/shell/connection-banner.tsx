import { useEffect, useState } from "react";
import { live } from "../data/live.ts";
import { useValue } from "../data/value-store.ts";

const delayMs = 700;
const relievedMs = 3000;

/** Says that the connection is lost, and that it is back. What is quickly over is not mentioned. */
export function ConnectionBanner() {
  const status = useValue(live.status);
  const [shown, setShown] = useState<"lost" | "back" | null>(null);
  useEffect(() => {
    if (status === "lost" || status === "connecting") {
      const timer = setTimeout(() => setShown("lost"), delayMs);
      return () => clearTimeout(timer);
    }
    setShown((before) => (before === "lost" && status === "live" ? "back" : null));
    const timer = setTimeout(() => setShown(null), relievedMs);
    return () => clearTimeout(timer);
  }, [status]);
  return (
    <div role="status" aria-live="polite" className="shrink-0">
      {shown === "lost" && (
        <p className="border-b border-line bg-panel px-4 py-1.5 text-warn">
          <strong className="font-semibold">No connection to the server.</strong> What you see may
          be old. Trying again…
        </p>
      )}
      {shown === "back" && (
        <p className="border-b border-line bg-panel px-4 py-1.5 text-good">
          Connected again. Nothing was missed.
        </p>
      )}
    </div>
  );
}
