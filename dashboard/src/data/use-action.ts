import { useCallback, useRef, useState } from "react";
import { showProblem } from "../components/toast.tsx";

/** Something a person does: once at a time, and what the server refuses is shown. */
export function useAction<Given extends readonly unknown[]>(
  act: (...given: Given) => Promise<void>,
): { readonly isBusy: boolean; run(...given: Given): Promise<boolean> } {
  const [isBusy, setBusy] = useState(false);
  const latest = useRef(act);
  latest.current = act;
  const isRunning = useRef(false);
  const run = useCallback(async (...given: Given): Promise<boolean> => {
    if (isRunning.current) return false;
    isRunning.current = true;
    setBusy(true);
    try {
      await latest.current(...given);
      return true;
    } catch (error) {
      showProblem(error);
      return false;
    } finally {
      isRunning.current = false;
      setBusy(false);
    }
  }, []);
  return { isBusy, run };
}
