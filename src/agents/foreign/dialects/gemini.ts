import type { ImportedAgent } from "../agent-file.ts";
import type { ForeignAgent } from "../foreign-agent.ts";
import { importAgent } from "../import-agent.ts";
import { markdownMeaning } from "./markdown.ts";

/** Gemini CLI: `.gemini/agents/*.md`. Far more lenient than its own reader, which is strict. */
export function importGemini(agent: ForeignAgent): ImportedAgent {
  if (agent.fields["kind"] === "remote" || agent.fields["agent_card_url"] !== undefined) {
    agent.findings.refuse("a remote agent runs elsewhere; it cannot be a profile");
  }
  return importAgent(agent, markdownMeaning);
}
