import { isDeepStrictEqual } from "node:util";
import { messageOf } from "../../ports/message-of.ts";
import { isRecord } from "../../ports/parse-json.ts";
import type { ControlRecord, RecordChange } from "../../ports/record-store.ts";
import {
  type AgentEntry,
  type AgentRegistry,
  checkAgents,
  type IsKnownProfile,
  parseAgentRegistry,
} from "./agent-registry.ts";
import {
  type ControlParts,
  knownProfiles,
  registryId,
  retryOnConflict,
  versionOf,
} from "./control-store.ts";
import { isPinRecordId, readPinValue } from "./pins.ts";
import { requireUnused } from "./profile-records.ts";
import { readRegistry } from "./registry-record.ts";
import { quote } from "./shown-text.ts";
import { checkKeys, type JsonRecord, readJson, refuseProblems } from "./strict-json.ts";

/**
 * The control plane as one document, to be exported, edited and applied. `agents` is the whole
 * registry; of profiles and pins it changes those that it names, and null takes one away. What it
 * leaves out stays as it is. Pins are `global` and `workspace:<id>`: those of sessions and users are
 * their own.
 */
export interface ControlDocument {
  readonly version: 1;
  readonly agents?: readonly AgentEntry[];
  readonly profiles?: Readonly<Record<string, JsonRecord | null>>;
  readonly pins?: Readonly<Record<string, string | null>>;
}

/** Throws when the value cannot be a profile of this id. */
type JudgeProfile = (id: string, value: unknown) => unknown;

const documentBytes = 1024 * 1024;

/** Whole or not at all; profiles that the document brings count as known in the rest of it. */
function parseControlDocument(
  source: unknown,
  isStored: IsKnownProfile,
  judgeProfile: JudgeProfile,
): ControlDocument {
  const value = readJson(source, "the document", { bytes: documentBytes, depth: 34 });
  const problems: string[] = [];
  if (!isRecord(value)) {
    refuseProblems(["the document: must be an object with version and agents"]);
    return { version: 1 };
  }
  if (value["version"] !== 1) problems.push("version: must be the number 1");
  checkKeys(value, ["version", "agents", "profiles", "pins"], "", problems);
  const has = (key: string) => Object.hasOwn(value, key);
  const profiles = has("profiles")
    ? checkProfiles(value["profiles"], judgeProfile, problems)
    : undefined;
  const isKnown = (id: string) =>
    profiles !== undefined && Object.hasOwn(profiles, id) ? profiles[id] !== null : isStored(id);
  const document: ControlDocument = {
    version: 1,
    ...(has("agents") && { agents: checkAgents(value["agents"], isKnown, problems) }),
    ...(profiles && { profiles }),
    ...(has("pins") && { pins: checkPins(value["pins"], isKnown, problems) }),
  };
  refuseProblems(problems);
  return document;
}

function checkProfiles(
  value: unknown,
  judge: JudgeProfile,
  problems: string[],
): Record<string, JsonRecord | null> {
  if (!isRecord(value)) {
    problems.push("profiles: must be an object of profiles by their ids");
    return {};
  }
  const profiles: Record<string, JsonRecord | null> = {};
  for (const [id, profile] of Object.entries(value)) {
    try {
      if (profile !== null) judge(id, profile);
      profiles[id] = profile as JsonRecord | null;
    } catch (error) {
      problems.push(`profiles.${quote(id).slice(1, -1)}: ${messageOf(error)}`);
    }
  }
  return profiles;
}

function checkPins(
  value: unknown,
  isKnown: IsKnownProfile,
  problems: string[],
): Record<string, string | null> {
  if (!isRecord(value)) {
    problems.push("pins: must be an object of profile ids");
    return {};
  }
  const pins: Record<string, string | null> = {};
  for (const [scope, profileId] of Object.entries(value)) {
    const path = `pins.${quote(scope).slice(1, -1)}`;
    const isShared = scope === "global" || scope.startsWith("workspace:");
    if (!isShared || !isPinRecordId(`profile-pin:${scope}`)) {
      problems.push(`${path}: must be "global" or "workspace:" and the workspace`);
    } else if (profileId === null) pins[scope] = null;
    else if (typeof profileId !== "string") problems.push(`${path}: must be text`);
    else if (!isKnown(profileId)) problems.push(`${path}: there is no profile ${quote(profileId)}`);
    else pins[scope] = profileId;
  }
  return pins;
}

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
  { isWhole }: { readonly isWhole: boolean },
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
