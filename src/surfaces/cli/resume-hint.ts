import type { RunState } from "../../events/run-state.ts";
import type { Io } from "./io.ts";

/** How a run continues that no process works on. A distributed one lacks nothing but a worker. */
export function resumeHint({ id, spread }: Pick<RunState, "id" | "spread">, io: Io): string {
  return spread === null
    ? `Resume: ${io.program} resume ${id}`
    : `Start a worker: ${io.program} worker`;
}
