import type { Store } from "../../ports/store.ts";
import type { Principal } from "../records/principal.ts";
import { storeSeenBy } from "./store-seen-by.ts";

const holders = new WeakMap<Store, WeakMap<object, object>>();

/** What holds a store, such as a runtime, with the store as a principal may see it. */
export function seenBy<Holder extends { readonly store: Store }>(
  holder: Holder,
  principal: Principal,
): Holder {
  const store = storeSeenBy(holder.store, principal);
  if (store === holder.store) return holder;
  const known = holders.get(store) ?? new WeakMap<object, object>();
  holders.set(store, known);
  const seen = (known.get(holder) as Holder | undefined) ?? { ...holder, store };
  known.set(holder, seen);
  return seen;
}
