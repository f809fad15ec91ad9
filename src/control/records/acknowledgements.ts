import { MandateError } from "../../ports/mandate-error.ts";
import { acknowledgedPrefix, type ControlParts, type ControlStore } from "./control-store.ts";
import { retryOnConflict } from "./retry-on-conflict.ts";
import { quote } from "./shown-text.ts";

/** What was acknowledged, for people; what counts is the hash alone. */
export interface AcknowledgedFile {
  readonly file: string;
  readonly name: string;
}

/** Says that exactly this content may count. A file that changes has another hash, and asks again. */
export function acknowledgeContent(
  { clock, store }: ControlParts,
  hash: string,
  { file, name }: AcknowledgedFile,
  actor: string,
): Promise<void> {
  const resourceId = recordIdOf(hash);
  return retryOnConflict(async () => {
    if ((await store.readRecord("policy", resourceId)) !== undefined) return;
    const change = { resourceType: "policy", resourceId, expectedVersion: 0 };
    await store.changeRecords([{ ...change, value: { file, name } }], actor);
  }, clock);
}

/** False when it was not acknowledged. */
export function withdrawContent(
  { clock, store }: ControlParts,
  hash: string,
  actor: string,
): Promise<boolean> {
  const resourceId = recordIdOf(hash);
  return retryOnConflict(async () => {
    const record = await store.readRecord("policy", resourceId);
    if (record === undefined) return false;
    const { version: expectedVersion } = record;
    const change = { resourceType: "policy", resourceId, expectedVersion, value: null };
    await store.changeRecords([change], actor);
    return true;
  }, clock);
}

export async function readAcknowledged(store: ControlStore): Promise<ReadonlySet<string>> {
  const records = await store.listRecords("policy", acknowledgedPrefix);
  return new Set(records.map(({ resourceId }) => resourceId.slice(acknowledgedPrefix.length)));
}

export interface Acknowledgement extends AcknowledgedFile {
  readonly hash: string;
}

export async function readAcknowledgements(
  store: ControlStore,
): Promise<readonly Acknowledgement[]> {
  const records = await store.listRecords("policy", acknowledgedPrefix);
  return records.map(({ resourceId, value }) => ({
    ...(value as AcknowledgedFile),
    hash: resourceId.slice(acknowledgedPrefix.length),
  }));
}

function recordIdOf(hash: string): string {
  if (/^[0-9a-f]{64}$/.test(hash)) return `${acknowledgedPrefix}${hash}`;
  throw new MandateError("usage", `${quote(hash)} is not a SHA-256 in 64 hex digits.`);
}
