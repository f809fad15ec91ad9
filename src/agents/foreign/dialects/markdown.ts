import type { ImportedAgent } from "../agent-file.ts";
import type { ForeignAgent } from "../foreign-agent.ts";
import { importAgent, type Meaning } from "../import-agent.ts";

/** Agents that are Markdown: the body is the prompt, unless it was written as a key. */
export const markdownMeaning: Meaning = {
  prompt: ["systemPrompt", "system_prompt", "instructions", "developer_instructions", "prompt"],
};

/**
 * Dialects without a meaning of their own: VS Code's agents and chat modes, Cursor, pi, and Kiro's
 * Markdown, in which `allowedTools` is the list of tools.
 */
export function importMarkdown(agent: ForeignAgent): ImportedAgent {
  return importAgent(agent, markdownMeaning);
}
