import { modelName } from "../contracts/contract.ts";
import type { Store } from "../ports/store.ts";
import { StoreMemory } from "./store-memory.ts";

/** What people compare with what was spent, of one contract. */
export interface GrantedCaps {
  readonly model: string;
  readonly tokens: number;
  /** In US dollars; null: no cap. */
  readonly cost: number | null;
  /** Milliseconds in all. */
  readonly timeMs: number;
}

/** Contracts never change, and a tree is looked at again and again. */
const known = new StoreMemory<GrantedCaps>(20_000);

/** Null where the contract cannot be trusted: then it says nothing. */
export async function grantedCaps(store: Store, delegationId: string): Promise<GrantedCaps | null> {
  const kept = known.get(store, delegationId);
  if (kept !== undefined) return kept;
  const contract = await store.readContract(delegationId).catch(() => undefined);
  if (contract === undefined) return null;
  const { budget, deadlines } = contract;
  const caps = {
    model: modelName(contract),
    tokens: budget.tokens,
    cost: budget.cost,
    timeMs: deadlines.total,
  };
  known.keep(store, delegationId, caps);
  return caps;
}
