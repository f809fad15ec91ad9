import { createHash } from "node:crypto";
import { isRecord } from "../../ports/parse-json.ts";
import {
  type ConsentMode,
  consentModes,
  type RememberedConsent,
} from "../folders/decide-consent.ts";
import {
  type ControlParts,
  type ControlStore,
  removePolicy,
  retryOnConflict,
  versionOf,
} from "./control-store.ts";

const prefix = "folder-consent:";

export interface StoredConsent extends RememberedConsent {
  readonly updatedAt: number;
}

export function writeConsent(
  { clock, store }: ControlParts,
  { folder, mode, owner }: RememberedConsent,
  user: string,
): Promise<void> {
  const resourceId = recordIdOf(folder, user);
  return retryOnConflict(async () => {
    const record = await store.readRecord("policy", resourceId);
    const expectedVersion = versionOf(record);
    const value = { folder, mode, owner };
    await store.changeRecords(
      [{ resourceType: "policy", resourceId, expectedVersion, value }],
      user,
    );
  }, clock);
}

/** False when there was no consent for exactly this folder. */
export function removeConsent(parts: ControlParts, folder: string, user: string): Promise<boolean> {
  return removePolicy(parts, recordIdOf(folder, user), user);
}

/**
 * The valid consents of a user. An invalid record, or one under another folder's id, is no consent.
 */
export async function readConsents(
  store: ControlStore,
  user: string,
): Promise<readonly StoredConsent[]> {
  const records = await store.listRecords("policy", `${prefix}${user}:`);
  return records.flatMap(({ resourceId, updatedAt, value }) => {
    const consent = parseConsent(value);
    if (consent === undefined || recordIdOf(consent.folder, user) !== resourceId) return [];
    return { ...consent, updatedAt };
  });
}

function parseConsent(value: unknown): RememberedConsent | undefined {
  if (!isRecord(value)) return undefined;
  const { folder, owner } = value;
  const mode: ConsentMode | undefined = consentModes.find((each) => each === value["mode"]);
  if (typeof folder !== "string" || mode === undefined) return undefined;
  if (owner !== null && typeof owner !== "number") return undefined;
  return { folder, mode, owner };
}

/** The id has the hash of the path: a path can be longer than an id and contain any byte. */
function recordIdOf(folder: string, user: string): string {
  return `${prefix}${user}:${createHash("sha256").update(folder).digest("hex")}`;
}
