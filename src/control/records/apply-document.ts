import { isDeepStrictEqual } from "node:util";
import type { ControlRecord, RecordChange } from "../../ports/record-store.ts";
import type { AgentRegistry } from "./agent-registry.ts";
import { type ControlDocument, parseControlDocument } from "./control-document.ts";
import { type ControlParts, knownProfiles, registryId, versionOf } from "./control-store.ts";
import { parseAgentRegistry } from "./parse-agent-registry.ts";
import { readPinValue } from "./pin-records.ts";
import { requireUnused } from "./profile-records.ts";
import { type JsonRecord, readJson } from "./read-json.ts";
import { readRegistry } from "./registry-record.ts";
import { retryOnConflict } from "./retry-on-conflict.ts";

/** How many of each the document speaks of, and how many records were changed for it. */
export interface Applied {
  readonly agents: number;
  readonly profiles: number;
  readonly pins: number;
  readonly changed: number;
}

/**
 * Registry, profiles and pins in one transaction, or nothing. Agents that are gone take no pin with
 * them: a pin names a profile, and that is still there, or using the pin is an error.
 */
export function applyDocument(
  parts: ControlParts,
  source: unknown,
  actor: string,
): Promise<Applied> {
  return retryOnConflict(async () => {
    const isStored = await knownProfiles(parts);
    const { layerOfRecord } = await import("./layer-of-record.ts");
    const document = parseControlDocument(source, isStored, layerOfRecord);
    const { profiles = {}, pins = {} } = document;
    const changes = [
      ...(await registryChange(parts, document)),
      ...(await valueChanges(parts, "profile", Object.entries(profiles))),
      ...(await valueChanges(parts, "policy", Object.entries(pins).map(toPin))),
    ];
    if (changes.length > 0) await parts.store.changeRecords(changes, actor);
    return {
      agents: document.agents?.length ?? 0,
      profiles: Object.keys(profiles).length,
      pins: Object.keys(pins).length,
      changed: changes.length,
    };
  }, parts.clock);
}

/** Also written when it stays the same and a profile goes: see `deleteProfileRecord`. */
async function registryChange(
  { store }: ControlParts,
  { agents, profiles = {} }: ControlDocument,
): Promise<readonly RecordChange[]> {
  const gone = Object.keys(profiles).filter((id) => profiles[id] === null);
  if (agents === undefined && gone.length === 0) return [];
  const record = await store.readRecord("policy", registryId);
  // A whole registry also replaces one that cannot be read any more.
  const next: AgentRegistry =
    agents === undefined
      ? (await readRegistry(store)).registry
      : parseAgentRegistry({ version: 1, agents }, () => true);
  for (const id of gone) requireUnused(id, next);
  if (gone.length === 0 && isDeepStrictEqual(record?.value, next)) return [];
  const expectedVersion = versionOf(record);
  return [{ resourceType: "policy", resourceId: registryId, expectedVersion, value: next }];
}

async function valueChanges(
  { store }: ControlParts,
  resourceType: string,
  values: readonly (readonly [string, JsonRecord | null])[],
): Promise<readonly RecordChange[]> {
  const changes: RecordChange[] = [];
  for (const [resourceId, value] of values) {
    const record = await store.readRecord(resourceType, resourceId);
    if (isDeepStrictEqual(record?.value ?? null, value)) continue;
    // The cap of one record, which is smaller than that of a document.
    if (value !== null) readJson(value, `${resourceType}/${resourceId}`);
    changes.push({ resourceType, resourceId, expectedVersion: versionOf(record), value });
  }
  return changes;
}

function toPin([scope, profileId]: readonly [string, string | null]) {
  return [`profile-pin:${scope}`, profileId === null ? null : { profileId }] as const;
}

/** What `applyDocument` would take. `isWhole` adds profile records and pins to the public part. */
export async function exportDocument(
  { store }: ControlParts,
  isWhole: boolean,
): Promise<ControlDocument> {
  const { registry } = await readRegistry(store);
  if (!isWhole) return registry;
  const profiles = await store.listRecords("profile");
  const global = await store.listRecords("policy", "profile-pin:global");
  const workspaces = await store.listRecords("policy", "profile-pin:workspace:");
  const pins = [...global, ...workspaces];
  return {
    ...registry,
    ...(profiles.length > 0 && { profiles: Object.fromEntries(profiles.map(toProfile)) }),
    ...(pins.length > 0 && { pins: Object.fromEntries(pins.map(toScope)) }),
  };
}

function toProfile({ resourceId, value }: ControlRecord): [string, JsonRecord] {
  return [resourceId, value as JsonRecord];
}

function toScope({ resourceId, value }: ControlRecord): [string, string] {
  return [resourceId.slice("profile-pin:".length), readPinValue(value, resourceId)];
}
