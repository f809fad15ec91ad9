import { MandateError } from "../../ports/mandate-error.ts";
import { messageOf } from "../../ports/message-of.ts";
import { isRecord } from "../../ports/parse-json.ts";
import {
  type AgentEntry,
  type AgentRegistry,
  emptyRegistry,
  type IsKnownProfile,
  parseAgentEntry,
  parseAgentRegistry,
} from "./agent-registry.ts";
import {
  type ControlParts,
  type ControlStore,
  knownProfiles,
  registryId,
  retryOnConflict,
} from "./control-store.ts";
import { quote } from "./shown-text.ts";
import { readJson } from "./strict-json.ts";

export interface StoredRegistry {
  readonly registry: AgentRegistry;
  /** 0 before the first registration. */
  readonly version: number;
}

/** A change of a registered agent: absent fields stay, null removes one. */
export type AgentChange = {
  readonly [Key in Exclude<keyof AgentEntry, "agentId">]?: AgentEntry[Key] | null;
};

/**
 * Reads the registry. The profile of an entry may be missing, since files change; such an entry can
 * be shown, changed and removed, but not delegated to.
 */
export async function readRegistry(store: ControlStore): Promise<StoredRegistry> {
  const record = await store.readRecord("policy", registryId);
  if (record === undefined) return { registry: emptyRegistry, version: 0 };
  try {
    const registry = parseAgentRegistry(JSON.stringify(record.value), () => true);
    return { registry, version: record.version };
  } catch (cause) {
    const problem = `The stored record policy/${registryId} cannot be used: ${messageOf(cause)}`;
    const remedy = "An operator has to replace the whole record.";
    throw new MandateError("config-invalid", `${problem}\n${remedy}`, { cause });
  }
}

export async function replaceRegistry(
  { store }: ControlParts,
  registry: AgentRegistry,
  expectedVersion: number,
  actor: string,
): Promise<StoredRegistry> {
  const change = { resourceType: "policy", resourceId: registryId, expectedVersion };
  const [record] = await store.changeRecords([{ ...change, value: registry }], actor);
  return { registry, version: record?.version ?? 0 };
}

/** Changes the registry, and retries while other writers interfere. */
export function changeAgents(
  parts: ControlParts,
  actor: string,
  change: (agents: readonly AgentEntry[], isKnown: IsKnownProfile) => readonly AgentEntry[],
): Promise<StoredRegistry> {
  return retryOnConflict(async () => {
    const { registry, version } = await readRegistry(parts.store);
    const agents = change(registry.agents, await knownProfiles(parts));
    // Validated again as a whole, for the size.
    const next = parseAgentRegistry({ version: 1, agents }, () => true);
    return replaceRegistry(parts, next, version, actor);
  }, parts.clock);
}

/**
 * Registers an entry. A registered agent keeps the fields that the new entry does not give: a new
 * description must not drop a restriction.
 */
export function withEntry(
  agents: readonly AgentEntry[],
  entry: AgentEntry,
  isKnown: IsKnownProfile,
): readonly AgentEntry[] {
  const said = readJson(entry, "the agent");
  const { agentId } = entry;
  const before = agents.find((each) => each.agentId === agentId);
  const after = checked(isRecord(said) ? { ...before, ...said } : said, isKnown);
  if (before === undefined) return [...agents, after];
  return agents.map((each) => (each === before ? after : each));
}

export function withChange(
  agents: readonly AgentEntry[],
  agentId: string,
  change: AgentChange,
  isKnown: IsKnownProfile,
): readonly AgentEntry[] {
  const before = requireEntry(agents, agentId);
  const said = Object.entries({ ...before, ...change, agentId });
  const kept = Object.fromEntries(said.filter(([, value]) => value !== null));
  // A missing profile does not prevent other changes.
  const after = checked(kept, "profileId" in change ? isKnown : () => true);
  return agents.map((each) => (each === before ? after : each));
}

export function withoutEntry(
  agents: readonly AgentEntry[],
  agentId: string,
): readonly AgentEntry[] {
  const entry = requireEntry(agents, agentId);
  return agents.filter((each) => each !== entry);
}

export function requireEntry(agents: readonly AgentEntry[], agentId: string): AgentEntry {
  const entry = agents.find((each) => each.agentId === agentId);
  if (entry !== undefined) return entry;
  throw new MandateError("unknown-agent", `Agent not found: ${quote(agentId).slice(1, -1)}`);
}

function checked(value: unknown, isKnown: IsKnownProfile): AgentEntry {
  const entry = parseAgentEntry(value, () => true);
  requireProfile(entry.profileId, isKnown);
  return entry;
}

export function requireProfile(profileId: string, isKnown: IsKnownProfile): void {
  if (isKnown(profileId)) return;
  const problem = isKnown.problemOf?.(profileId);
  throw new MandateError("unknown-profile", problem ?? `There is no profile ${quote(profileId)}.`);
}
