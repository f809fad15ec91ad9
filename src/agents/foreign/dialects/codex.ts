import type { ImportedAgent } from "../agent-file.ts";
import type { ForeignAgent } from "../foreign-agent.ts";
import { importAgent } from "../import-agent.ts";

/** Codex: `.codex/agents/*.toml`. It has no list of tools; `sandbox_mode` restricts. */
export function importCodex(agent: ForeignAgent): ImportedAgent {
  return importAgent(agent, { prompt: ["developer_instructions", "instructions"] });
}
