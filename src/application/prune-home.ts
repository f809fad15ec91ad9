import { MandateError } from "../ports/mandate-error.ts";
import type { PruneReport, PruneRequest, Store } from "../ports/store.ts";
import { runsWithCopies } from "./kept-copies.ts";

/**
 * Prunes runs of a store, except those whose work still lies in a copy in this home: without its log
 * that work could not be merged or discarded.
 */
export async function pruneHome(
  { home, store }: { readonly store: Store; readonly home: string },
  request: Omit<PruneRequest, "keep">,
): Promise<PruneReport> {
  if (store.prune === undefined) {
    throw new MandateError("usage", "This store cannot prune runs.");
  }
  return store.prune({ ...request, keep: await runsWithCopies({ store, home }) });
}
