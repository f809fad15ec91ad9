import { keptWorkIn } from "../../application/kept-copies.ts";
import { findPlaces } from "../../control/places.ts";
import type { RunState } from "../../events/run-state.ts";
import type { Store } from "../../ports/store.ts";
import type { Io } from "./io.ts";

/** The delegations of a run that failed and left their work in a copy. */
export function keptChanges(
  store: Store,
  { delegations }: Pick<RunState, "delegations">,
  io: Io,
): Promise<readonly string[]> {
  const { home } = findPlaces(io.environment);
  return keptWorkIn({ store, home }, delegations.values());
}

export function tellKept(kept: readonly string[], io: Io): void {
  for (const id of kept) io.stderr.write(`Changes kept: ${io.program} diff ${id}\n`);
}

/** The command that continues an orphaned run. A distributed run needs a worker. */
export function resumeHint({ id, spread }: Pick<RunState, "id" | "spread">, io: Io): string {
  return spread === null
    ? `Resume: ${io.program} resume ${id}`
    : `Start a worker: ${io.program} worker`;
}
