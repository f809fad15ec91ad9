import type { ImportedAgent } from "../agent-file.ts";
import { denyTool } from "../denied-tools.ts";
import type { ForeignAgent } from "../foreign-agent.ts";
import { importAgent } from "../import-agent.ts";
import { includeFiles } from "../include-files.ts";
import { recordOf } from "../plain-data.ts";
import type { ToolAuthority } from "../tool-authority.ts";

/** Kiro's JSON: `tools` are there, and `allowedTools` only says which of them need no question. */
export function importKiroJson(agent: ForeignAgent): ImportedAgent {
  const body = includeFiles(agent.fields["prompt"], agent);
  const parts = settingParts(agent);
  return importAgent(
    { ...agent, body },
    { used: ["prompt"], preApproved: ["allowedTools"], parts },
  );
}

/** What the settings of a tool deny. Commands are regular expressions there: the tool goes. */
function settingParts({ fields, findings, lineOf }: ForeignAgent): ToolAuthority[] {
  const line = lineOf("toolsSettings");
  const place = { field: "toolsSettings", line, findings, servers: [] };
  return Object.entries(recordOf(fields["toolsSettings"])).flatMap(([tool, setting]) => {
    const { deniedCommands, deniedPaths, deniedServices } = recordOf(setting);
    const paths: readonly unknown[] = Array.isArray(deniedPaths) ? deniedPaths : [];
    if (deniedCommands !== undefined || deniedServices !== undefined) {
      findings.lose(
        `toolsSettings.${tool}`,
        "narrowed",
        "what it denies cannot be kept; it is denied",
      );
      return [{ rules: denyTool(tool, place) }];
    }
    return paths.map((path) => ({ rules: denyTool(`${tool}(${String(path)})`, place) }));
  });
}
