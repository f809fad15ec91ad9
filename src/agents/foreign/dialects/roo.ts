import type { ImportedAgent } from "../agent-file.ts";
import type { ForeignAgent } from "../foreign-agent.ts";
import { importAgent } from "../import-agent.ts";
import type { ToolAuthority } from "../tool-authority.ts";

/** One of Roo's modes. Groups are required there, so that a mode without them has no tools. */
export function importRoo(agent: ForeignAgent): ImportedAgent {
  const { fields, findings } = agent;
  const parts: ToolAuthority[] = [];
  if (!Object.keys(fields).some((key) => /^groups$/i.test(key))) {
    findings.warn('"groups" is missing; no tool is allowed');
    parts.push({ tools: [], rules: [] });
  }
  return importAgent(agent, {
    name: ["slug", "name"],
    title: ["name"],
    description: ["whenToUse", "description"],
    prompt: ["roleDefinition", "customInstructions"],
    parts,
  });
}
