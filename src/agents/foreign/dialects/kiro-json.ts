import type { ImportedAgent } from "../agent-file.ts";
import type { ForeignAgent } from "../foreign-agent.ts";
import { importAgent } from "../import-agent.ts";
import { includeFiles } from "../include-files.ts";

/**
 * Kiro's JSON: `tools` are there, and `allowedTools` only says which of them need no question.
 * Without `tools` it is the only list there is, and is read as one.
 */
export function importKiroJson(agent: ForeignAgent): ImportedAgent {
  const body = includeFiles(agent.fields["prompt"], agent);
  const preApproved = agent.fields["tools"] === undefined ? [] : ["allowedTools"];
  return importAgent({ ...agent, body }, { used: ["prompt"], preApproved });
}
