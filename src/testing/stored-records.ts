import { MandateError } from "../ports/mandate-error.ts";
import type { RecordChange } from "../ports/record-store.ts";
import type { Store } from "../ports/store.ts";

/** A change of a record of the type that tests use. */
export const change = (id: string, expectedVersion: number, value: unknown): RecordChange => ({
  resourceType: "policy",
  resourceId: id,
  expectedVersion,
  value,
});

/** Adds one to a number that others add to as well; gives how often another writer was faster. */
export async function addOne(store: Store, id: string, actor: string): Promise<number> {
  for (let conflicts = 0; ; conflicts++) {
    const record = await store.readRecord("policy", id);
    const count = (record?.value as { count: number } | undefined)?.count ?? 0;
    try {
      await store.changeRecords([change(id, record?.version ?? 0, { count: count + 1 })], actor);
      return conflicts;
    } catch (error) {
      if (!(error instanceof MandateError && error.code === "conflict")) throw error;
      // Those who ran into each other should not do so again at once.
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 8));
    }
  }
}
