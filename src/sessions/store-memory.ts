import type { Store } from "../ports/store.ts";

/**
 * What was once read of a store and cannot change any more. It ends with the store, and is dropped
 * as a whole when it grows too large: a process that runs for weeks must not keep every run in mind.
 */
export class StoreMemory<Value> {
  readonly #most: number;
  readonly #byStore = new WeakMap<Store, Map<string, Value>>();

  constructor(most: number) {
    this.#most = most;
  }

  get(store: Store, id: string): Value | undefined {
    return this.#byStore.get(store)?.get(id);
  }

  keep(store: Store, id: string, value: Value): void {
    const kept = this.#byStore.get(store) ?? new Map<string, Value>();
    if (kept.size >= this.#most) kept.clear();
    this.#byStore.set(store, kept.set(id, value));
  }
}
