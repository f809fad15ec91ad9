import type { RunState } from "../../events/run-state.ts";
import type { Io } from "./io.ts";

/** What has a run go on that nobody works on. One that is spread lacks nothing but a worker. */
export function goOnHint({ id, spread }: Pick<RunState, "id" | "spread">, io: Io): string {
  return spread === null
    ? `Go on with: ${io.program} resume ${id}`
    : `Start a worker: ${io.program} worker`;
}
