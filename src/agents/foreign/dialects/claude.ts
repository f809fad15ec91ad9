import type { ImportedAgent } from "../agent-file.ts";
import { readAllowedTools } from "../allowed-tools.ts";
import { readDeniedTools } from "../denied-tools.ts";
import type { ForeignAgent } from "../foreign-agent.ts";
import { importAgent } from "../import-agent.ts";
import { recordOf } from "../plain-data.ts";
import { markdownMeaning } from "./markdown.ts";

/** Claude Code: `.claude/agents/*.md`, and what most other programs have copied from it. */
export function importClaude(agent: ForeignAgent): ImportedAgent {
  return importAgent(agent, { ...markdownMeaning, parts: capabilityParts(agent) });
}

/** A habit of some collections: tools inside a map of capabilities. It narrows, so it counts. */
function capabilityParts({ fields, findings, lineOf }: ForeignAgent) {
  const { allowed_tools, restricted_tools } = recordOf(fields["capabilities"]);
  const line = lineOf("capabilities");
  const placeOf = (key: string) => ({ field: `capabilities.${key}`, line, findings, servers: [] });
  return [
    ...(allowed_tools === undefined
      ? []
      : [readAllowedTools(allowed_tools, placeOf("allowed_tools"))]),
    ...(restricted_tools === undefined
      ? []
      : [readDeniedTools(restricted_tools, placeOf("restricted_tools"))]),
  ];
}
