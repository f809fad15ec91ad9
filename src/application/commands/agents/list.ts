import { type AgentEntry, sortAgents } from "../../../control/records/agent-registry.ts";
import { oneLine } from "../../../text.ts";
import { type CommandContext, type CommandResult, defineCommand } from "../command.ts";
import { parseNothing } from "../split-fields.ts";

const about = "Lists the agents that can be delegated to.";

export const agents = defineCommand({
  name: "agents",
  form: "",
  about,
  parse: parseNothing,
  execute: list,
});

export const listAgents = defineCommand({
  name: "agents list",
  form: "",
  about,
  parse: parseNothing,
  execute: list,
});

async function list(_given: object, context: CommandContext): Promise<CommandResult> {
  const { registry } = await context.controlPlane.registry();
  const sorted = sortAgents(registry.agents);
  const data = sorted.map((entry) => describeAgent(entry, context));
  if (sorted.length === 0) return { reply: "No agent profiles registered.", data };
  const lines = sorted.map(
    ({ agentId, profileId, description }) =>
      `- ${agentId} -> ${profileId}: ${oneLine(description)} ${modelLabel(profileId, context)}`,
  );
  return { reply: ["Agent profiles:", ...lines].join("\n"), data };
}

/** `[provider/model]`, or the reason why no model can be named. */
export function modelLabel(profileId: string, context: CommandContext): string {
  const profile = context.describeProfile(profileId);
  if (profile === undefined) return "[missing profile]";
  return `[${profile.model ?? "default model"}]`;
}

/** An entry for programs. */
export function describeAgent(entry: AgentEntry, context: CommandContext) {
  const profile = context.describeProfile(entry.profileId);
  return { ...entry, profileExists: profile !== undefined, model: profile?.model ?? null };
}
