import { spawnProfilesBlock } from "../agents/profiles/spawn-profiles-block.ts";
import { agentsBlock } from "../control/records/agent-registry.ts";
import { agentsFor } from "../control/records/resolve-profile.ts";
import type { EngineParts } from "../delegations/engine-parts.ts";

/** The profiles that another program's agent can delegate to, as models are told; empty: none. */
export function describeOfferedProfiles({
  profiles,
  toolbox,
}: Pick<EngineParts, "profiles" | "toolbox">): string {
  const isGrantable = (tool: string): boolean =>
    toolbox.get(tool) !== undefined || tool.startsWith("mcp__");
  return spawnProfilesBlock(profiles.offered(), isGrantable);
}

/** The registered agents that it can delegate to, likewise. */
export function describeOfferedAgents(parts: Pick<EngineParts, "agents" | "profiles">): string {
  return agentsBlock(agentsFor(parts, "delegate"));
}
