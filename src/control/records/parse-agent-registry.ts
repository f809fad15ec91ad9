import type { AgentEntry, AgentRegistry } from "./agent-registry.ts";
import { checkAgentEntry, checkAgents, type IsKnownProfile } from "./check-agents.ts";
import { checkKeys, isRecord, readJson, refuseProblems } from "./read-json.ts";

/**
 * The registry out of JSON text or data, whole or not at all: one wrong entry refuses the update,
 * since half of it was not what anybody decided. Every problem names its path.
 */
export function parseAgentRegistry(source: unknown, isKnownProfile: IsKnownProfile): AgentRegistry {
  const value = readJson(source, "the agent registry");
  const problems: string[] = [];
  if (!isRecord(value)) {
    refuseProblems(["the agent registry: must be an object with version and agents"]);
    return { version: 1, agents: [] };
  }
  if (value["version"] !== 1) problems.push("version: must be the number 1");
  checkKeys(value, ["version", "agents"], "", problems);
  const agents = checkAgents(value["agents"], isKnownProfile, problems);
  refuseProblems(problems);
  return { version: 1, agents };
}

/** One entry, judged as the registry judges it. */
export function parseAgentEntry(source: unknown, isKnownProfile: IsKnownProfile): AgentEntry {
  const problems: string[] = [];
  const entry = checkAgentEntry(readJson(source, "the agent"), "", isKnownProfile, problems);
  refuseProblems(problems);
  return entry;
}
