import { useEffect } from "react";
import { ValueStore } from "../data/value-store.ts";

/** A person leaves a page with unsaved text: their decision. */
export interface Departure {
  readonly go: () => void;
}

export const departure = new ValueStore<Departure | null>(null);

let unsaved = 0;

/** Leaves at once when nothing is unsaved; otherwise asks first. */
export function depart(go: () => void): void {
  if (unsaved === 0) go();
  else departure.set({ go });
}

export function isAnythingUnsaved(): boolean {
  return unsaved > 0;
}

/** As long as this holds, neither a link nor the browser leaves without asking. */
export function useUnsaved(isUnsaved: boolean): void {
  useEffect(() => {
    if (!isUnsaved) return;
    const warn = (event: BeforeUnloadEvent): void => event.preventDefault();
    unsaved += 1;
    addEventListener("beforeunload", warn);
    return () => {
      unsaved -= 1;
      removeEventListener("beforeunload", warn);
    };
  }, [isUnsaved]);
}
