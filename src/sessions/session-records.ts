import { type ControlStore, retryOnConflict, versionOf } from "../control/records/control-store.ts";
import { type Principal, requireRole } from "../control/records/principal.ts";
import { countCharacters, findHiddenCharacter } from "../control/records/shown-text.ts";
import { MandateError } from "../ports/mandate-error.ts";
import { isRecord } from "../ports/parse-json.ts";
import type { RecordStore } from "../ports/record-store.ts";
import type { Store } from "../ports/store.ts";
import { requireHead, type SessionHead } from "./session-chain.ts";

const resourceType = "session";
const prefix = "title:";
const longestTitle = 120;

/** The titles given by people, by the delegation that was renamed. */
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
 * The title of a session: the last one given to any of its delegations, or the title of its first task. So
 * a title stays when the session is continued, and two continuations can have different titles.
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

/** Renames a session; an empty title removes the given one. Recorded in the control log. */
export async function renameSession(
  store: Store & ControlStore,
  id: string,
  title: string,
  by: Principal,
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
  });
  return head.id;
}

function requireTitle(title: string): string {
  const wanted = typeof title === "string" ? title.trim() : "";
  const hidden = findHiddenCharacter(wanted);
  if (hidden !== undefined) {
    throw new MandateError(
      "usage",
      `A title is one line of visible characters; this one contains ${hidden}.`,
    );
  }
  if (countCharacters(wanted) <= longestTitle) return wanted;
  throw new MandateError("usage", `A title has at most ${longestTitle} characters. Shorten it.`);
}

/**
 * The workspace mode of a session for its next runs. `writable` is the default, and grants nothing beyond
 * profiles and contracts.
 */
export type WorkspaceMode = "readonly" | "writable";

/** Any record means read-only, even one that cannot be read. */
export async function isReadOnlySession(
  store: Pick<RecordStore, "readRecord">,
  session: string,
): Promise<boolean> {
  const resourceId = recordOf(session);
  return (
    resourceId !== undefined && (await store.readRecord(resourceType, resourceId)) !== undefined
  );
}

/** Sets the workspace mode. Recorded in the control log. */
export async function setSessionWorkspace(
  store: ControlStore,
  session: string,
  mode: WorkspaceMode,
  by: Principal,
): Promise<void> {
  requireRole("set-workspace", by);
  const resourceId = recordOf(session);
  if (resourceId === undefined) {
    throw new MandateError(
      "usage",
      "The name of a session must have 1 to 1024 visible characters.",
    );
  }
  await retryOnConflict(async () => {
    const record = await store.readRecord(resourceType, resourceId);
    if ((record === undefined) === (mode === "writable")) return;
    const value = mode === "writable" ? null : { mode };
    const expectedVersion = versionOf(record);
    await store.changeRecords([{ resourceType, resourceId, expectedVersion, value }], by.id);
  });
}

function recordOf(session: string): string | undefined {
  return isSessionName(session) ? `workspace:${session}` : undefined;
}

/** Surfaces choose the names of sessions, within these limits. */
export function isSessionName(session: string): boolean {
  return /^[^\p{Cc}\p{Cs}]{1,1024}$/u.test(session);
}
