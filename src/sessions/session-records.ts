import { type ControlStore, retryOnConflict, versionOf } from "../control/records/control-store.ts";
import { type Principal, requireRole } from "../control/records/principal.ts";
import { countCharacters, findHiddenCharacter } from "../control/records/shown-text.ts";
import type { Clock } from "../ports/clock.ts";
import { MandateError } from "../ports/mandate-error.ts";
import { isRecord } from "../ports/parse-json.ts";
import type { RecordStore } from "../ports/record-store.ts";
import type { Store } from "../ports/store.ts";
import { requireHead, type SessionHead } from "./session-chain.ts";

const resourceType = "session";
const prefix = "title:";
const longestTitle = 120;

/** The titles that people gave, by the delegation at which they did. */
export async function readTitles(
  store: Pick<RecordStore, "listRecords">,
): Promise<ReadonlyMap<string, string>> {
  const titles = new Map<string, string>();
  for (const { resourceId, value } of await store.listRecords(resourceType, prefix)) {
    const title = isRecord(value) ? value["title"] : undefined;
    if (typeof title === "string") titles.set(resourceId.slice(prefix.length), title);
  }
  return titles;
}

/**
 * A session is called what it was last named on its way here, else what it began with. So a title
 * stays when the session is continued, and two that have parted are named apart.
 */
export function titleOf(
  links: readonly SessionHead[],
  titles: ReadonlyMap<string, string>,
): string {
  for (const { id } of links.toReversed()) {
    const title = titles.get(id);
    if (title !== undefined) return title;
  }
  return links[0]?.title ?? "";
}

/** An empty title takes the given one away. In the control log, with who did it. */
export async function renameSession(
  store: Store & ControlStore,
  id: string,
  title: string,
  by: Principal,
  clock?: Clock,
): Promise<string> {
  requireRole("rename-session", by);
  const wanted = requireTitle(title);
  const head = await requireHead(store, id);
  const resourceId = `${prefix}${head.id}`;
  await retryOnConflict(async () => {
    const record = await store.readRecord(resourceType, resourceId);
    if (wanted === "" && record === undefined) return;
    const value = wanted === "" ? null : { title: wanted };
    const expectedVersion = versionOf(record);
    await store.changeRecords([{ resourceType, resourceId, expectedVersion, value }], by.id);
  }, clock);
  return head.id;
}

function requireTitle(title: string): string {
  const wanted = typeof title === "string" ? title.trim() : "";
  const hidden = findHiddenCharacter(wanted);
  if (hidden !== undefined) {
    throw new MandateError(
      "usage",
      `A title is one line that can be seen; this one has ${hidden}.`,
    );
  }
  if (countCharacters(wanted) <= longestTitle) return wanted;
  throw new MandateError(
    "usage",
    `A title has at most ${longestTitle} characters. Say it shorter.`,
  );
}

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
