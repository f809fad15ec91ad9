import { realPathOr } from "../../../files.ts";
import { MandateError } from "../../../ports/mandate-error.ts";
import type { Store } from "../../../ports/store.ts";
import { listSessions } from "../../../sessions/list-sessions.ts";
import type { Io } from "../io.ts";

/** The id that was typed, or the latest session of a folder. */
export async function findSession(
  store: Store,
  id: string | undefined,
  folder: string,
  io: Io,
): Promise<string> {
  if (id !== undefined) return id;
  // As runs name their folders: by one name each.
  const [latest] = await listSessions(store, { workspace: realPathOr(folder), limit: 1 });
  if (latest !== undefined) return latest.id;
  throw new MandateError(
    "unknown-run",
    `There is no session in this folder yet. Start one: ${io.program} run "…". Others: ${io.program} sessions --all`,
  );
}
