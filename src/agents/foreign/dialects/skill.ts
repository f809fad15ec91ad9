import type { ImportedAgent } from "../agent-file.ts";
import type { ForeignAgent } from "../foreign-agent.ts";
import { importAgent } from "../import-agent.ts";

/**
 * A SKILL.md read as an agent: its text is the prompt. `allowed-tools` approves calls beforehand
 * where skills run; it neither restricts nor grants here.
 */
export function importSkill(agent: ForeignAgent): ImportedAgent {
  return importAgent(agent);
}
