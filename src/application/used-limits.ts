import type { ControlPlane } from "../control/records/control-plane.ts";
import type { LimitValue, StoredLimit } from "../control/records/limit-records.ts";
import { inDollars } from "../ports/dollars.ts";
import type { Store } from "../ports/store.ts";

export interface UsedLimit extends StoredLimit {
  /** In the units of the limit, dollars with what is held for requests; null: the store does not count. */
  readonly used: Readonly<Record<keyof LimitValue, number>> | null;
}

/** The stored limits, with what is used of each now. */
export async function readUsedLimits(
  plane: Pick<ControlPlane, "limits">,
  store: Pick<Store, "usage">,
): Promise<readonly UsedLimit[]> {
  const limits = await plane.limits();
  if (limits.length === 0) return [];
  const usage = await store.usage?.usageOf(limits.map(({ scope }) => scope));
  return limits.map((limit) => {
    const counted = usage?.get(limit.scope);
    if (counted === undefined) return { ...limit, used: null };
    const { held, open, requests, spent, tokens } = counted;
    const dollarsPerDay = inDollars(spent + held);
    const used = { concurrency: open, requestsPerMinute: requests, tokensPerMinute: tokens };
    return { ...limit, used: { ...used, dollarsPerDay } };
  });
}
