import type { ImportedAgent } from "../agent-file.ts";
import type { ForeignAgent } from "../foreign-agent.ts";
import { importAgent, readText } from "../import-agent.ts";

/** Agents in plain YAML, as some collections put them beside the Markdown of Claude Code. */
export function importYamlAgent(agent: ForeignAgent): ImportedAgent {
  const { capabilities } = agent.fields;
  const words = Array.isArray(capabilities) ? readText(capabilities.map(String)) : undefined;
  return importAgent(agent, {
    ...(words !== undefined && { substitute: `For ${words.replaceAll("\n", ", ")}.` }),
    prompt: ["systemPrompt", "system_prompt", "instructions", "prompt"],
    description: ["description", "summary"],
  });
}
