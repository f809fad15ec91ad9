import { escapeXml, oneLine } from "../../text.ts";
import type { AgentEntry } from "./agent-registry.ts";

/**
 * What an orchestrator is told about the agents it can delegate to: handle, description, tags.
 * Profiles, records and models are not shown there. Sorted, so that the same registry gives
 * the same text, which providers can cache. Empty when there are none.
 */
export function agentsBlock(entries: readonly AgentEntry[]): string {
  if (entries.length === 0) return "";
  const lines = sortAgents(entries).map(({ agentId, description, tags = [] }) => {
    const listed = tags.map(oneLine).join(", ");
    const attribute = listed === "" ? "" : ` tags="${escapeXml(listed)}"`;
    const text = escapeXml(oneLine(description));
    return `  <agent id="${escapeXml(agentId)}"${attribute}>${text}</agent>`;
  });
  return ["<available_agents>", ...lines, "</available_agents>"].join("\n");
}

/** By handle; not by the order of registration, which says nothing. */
export function sortAgents(entries: readonly AgentEntry[]): readonly AgentEntry[] {
  return entries.toSorted((left, right) => (left.agentId < right.agentId ? -1 : 1));
}
