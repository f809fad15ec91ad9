import type { ImportedAgent } from "../agent-file.ts";
import type { ForeignAgent } from "../foreign-agent.ts";
import { importAgent } from "../import-agent.ts";

/** Agents in plain YAML, as some collections put them beside the Markdown of Claude Code. */
export function importYamlAgent(agent: ForeignAgent): ImportedAgent {
  return importAgent(agent, {
    prompt: ["systemPrompt", "system_prompt", "instructions", "prompt"],
    description: ["description", "summary"],
  });
}
