import { PlaceQueue } from "./place-queue.ts";
import type { PlanStep } from "./plan.ts";

type Owner = Pick<PlanStep, "owns" | "writes">;

/** What steps of equal ownership share: of those one runs at a time, so one at a time is asked. */
export interface Claim {
  readonly patterns: readonly string[];
  readonly waiting: PlaceQueue;
  /** Claims that wait for the step that has this one. */
  readonly holds: Claim[];
  /** A step of it runs, or it waits for another claim. */
  isBusy: boolean;
}

/** Who can write and owns nothing in particular could change anything. */
const anything: readonly string[] = ["**"];

export function claimsOf(steps: readonly Owner[], canWrite: boolean): (Claim | null)[] {
  const known = new Map<string, Claim>();
  return steps.map(({ owns, writes }) => {
    const patterns = owns.length === 0 && writes && canWrite ? anything : owns;
    if (patterns.length === 0) return null;
    const key = patterns.join("\n");
    const claim = known.get(key) ?? {
      patterns,
      waiting: new PlaceQueue(),
      holds: [],
      isBusy: false,
    };
    known.set(key, claim);
    return claim;
  });
}
