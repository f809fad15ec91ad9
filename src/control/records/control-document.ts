import { messageOf } from "../../ports/message-of.ts";
import type { AgentEntry } from "./agent-registry.ts";
import { checkAgents, type IsKnownProfile } from "./check-agents.ts";
import { isPinRecordId } from "./pin.ts";
import { checkKeys, isRecord, type JsonRecord, readJson, refuseProblems } from "./read-json.ts";
import { quote } from "./shown-text.ts";

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
export type JudgeProfile = (id: string, value: unknown) => unknown;

const documentBytes = 1024 * 1024;

/** Whole or not at all; profiles that the document brings count as known in the rest of it. */
export function parseControlDocument(
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
