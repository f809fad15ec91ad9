import { type ControlStore, retryOnConflict, versionOf } from "../control/records/control-store.ts";
import { type Principal, requireRole } from "../control/records/principal.ts";
import type { Clock } from "../ports/clock.ts";
import { MandateError } from "../ports/mandate-error.ts";
import type { RecordStore } from "../ports/record-store.ts";

const resourceType = "session";

/**
 * What a person said of the workspace for the next runs of a session. `writable` is what everybody
 * has who said nothing, and gives nothing that profiles and contracts do not give.
 */
export type WorkspaceMode = "readonly" | "writable";

/** A record that is there means read-only, whatever is in it: what cannot be read does not widen. */
export async function isReadOnlySession(
  store: Pick<RecordStore, "readRecord">,
  session: string,
): Promise<boolean> {
  const resourceId = recordOf(session);
  return (
    resourceId !== undefined && (await store.readRecord(resourceType, resourceId)) !== undefined
  );
}

/** In the control log, with who did it. */
export async function setSessionWorkspace(
  store: ControlStore,
  session: string,
  mode: WorkspaceMode,
  by: Principal,
  clock?: Clock,
): Promise<void> {
  requireRole("set-workspace", by);
  const resourceId = recordOf(session);
  if (resourceId === undefined) {
    throw new MandateError(
      "usage",
      "A session whose workspace is set has a name of 1 to 1024 characters that can be seen.",
    );
  }
  await retryOnConflict(async () => {
    const record = await store.readRecord(resourceType, resourceId);
    if ((record === undefined) === (mode === "writable")) return;
    const value = mode === "writable" ? null : { mode };
    const expectedVersion = versionOf(record);
    await store.changeRecords([{ resourceType, resourceId, expectedVersion, value }], by.id);
  }, clock);
}

function recordOf(session: string): string | undefined {
  return isSessionName(session) ? `workspace:${session}` : undefined;
}

/** A session is called whatever its surface calls it, as long as that can be read and stored. */
export function isSessionName(session: string): boolean {
  return /^[^\p{Cc}\p{Cs}]{1,1024}$/u.test(session);
}
