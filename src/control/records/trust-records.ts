import { MandateError } from "../../ports/mandate-error.ts";
import { type LoadedConfig, type SettledConfig, settleConfig } from "../load-config.ts";
import {
  type ControlParts,
  type ControlStore,
  removePolicy,
  retryOnConflict,
  trustedPrefix,
} from "./control-store.ts";
import { quote } from "./shown-text.ts";

/** Shown to people; trust depends on the hash alone. */
export interface TrustedFile {
  readonly file: string;
  readonly name: string;
}

/** Trusts exactly this content. A changed file has another hash, and needs trust again. */
export function trustContent(
  { clock, store }: ControlParts,
  hash: string,
  { file, name }: TrustedFile,
  actor: string,
): Promise<void> {
  const resourceId = recordIdOf(hash);
  return retryOnConflict(async () => {
    if ((await store.readRecord("policy", resourceId)) !== undefined) return;
    const change = { resourceType: "policy", resourceId, expectedVersion: 0 };
    await store.changeRecords([{ ...change, value: { file, name } }], actor);
  }, clock);
}

/** False when the content was not trusted. */
export function withdrawTrust(parts: ControlParts, hash: string, actor: string): Promise<boolean> {
  return removePolicy(parts, recordIdOf(hash), actor);
}

export async function readTrustedHashes(store: ControlStore): Promise<ReadonlySet<string>> {
  const records = await store.listRecords("policy", trustedPrefix);
  return new Set(records.map(({ resourceId }) => resourceId.slice(trustedPrefix.length)));
}

export interface TrustedContent extends TrustedFile {
  readonly hash: string;
}

export async function readTrustedContent(store: ControlStore): Promise<readonly TrustedContent[]> {
  const records = await store.listRecords("policy", trustedPrefix);
  return records.map(({ resourceId, value }) => ({
    ...(value as TrustedFile),
    hash: resourceId.slice(trustedPrefix.length),
  }));
}

function recordIdOf(hash: string): string {
  if (/^[0-9a-f]{64}$/.test(hash)) return `${trustedPrefix}${hash}`;
  throw new MandateError("usage", `${quote(hash)} is not a SHA-256 in 64 hex digits.`);
}

/** The configuration with the found file that is trusted, by the records of the store. */
export async function settleByRecords(
  loaded: LoadedConfig,
  store: ControlStore,
  { trustWorkspace = false }: { readonly trustWorkspace?: boolean | undefined } = {},
): Promise<SettledConfig> {
  if (loaded.found.length === 0) return { config: loaded.own, waiting: [] };
  const trusted = await readTrustedHashes(store);
  return settleConfig(loaded, (hash) => trustWorkspace || trusted.has(hash));
}
