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
 * registry. Of profiles and pins only the named ones change; null deletes one. Pins are `global`
 * and `workspace:<id>`; pins of sessions and users are not included.
 */
export interface ControlDocument {
  readonly version: 1;
  readonly agents?: readonly AgentEntry[];
  readonly profiles?: Readonly<Record<string, JsonRecord | null>>;
  readonly pins?: Readonly<Record<string, string | null>>;
}

/** Throws when the value is no valid profile with this id. */
type JudgeProfile = (id: string, value: unknown) => unknown;

const documentBytes = 1024 * 1024;

/**
 * Parses the whole document or throws. Profiles in the document count as known in its other parts.
 */
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

/** The numbers of agents, profiles and pins in the document, and of changed records. */
export interface Applied {
  readonly agents: number;
  readonly profiles: number;
  readonly pins: number;
  readonly changed: number;
}

/**
 * Applies registry, profiles and pins in one transaction. Pins of removed agents stay: a pin names
 * a profile, and if that is missing, the use of the pin is an error.
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

/** Writes an entry of the registry; unchanged, when a profile is deleted: see `deleteProfileRecord`. */
async function registryChange(
  { store }: ControlParts,
  { agents, profiles = {} }: ControlDocument,
): Promise<readonly RecordChange[]> {
  const gone = Object.keys(profiles).filter((id) => profiles[id] === null);
  if (agents === undefined && gone.length === 0) return [];
  const record = await store.readRecord("policy", registryId);
  // A whole registry also replaces an unreadable one.
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
    // The size limit of one record is smaller than that of a document.
    if (value !== null) readJson(value, `${resourceType}/${resourceId}`);
    changes.push({ resourceType, resourceId, expectedVersion: versionOf(record), value });
  }
  return changes;
}

function toPin([scope, profileId]: readonly [string, string | null]) {
  return [`profile-pin:${scope}`, profileId === null ? null : { profileId }] as const;
}

/** The document for `applyDocument`. `isWhole` adds profile records and pins to the public part. */
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
