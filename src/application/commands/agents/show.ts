import { oneLine } from "../../../text.ts";
import { defineCommand } from "../command.ts";
import { parseHandle } from "../split-fields.ts";
import { describeAgent, modelLabel } from "./list.ts";

export const showAgent = defineCommand({
  name: "agents show",
  form: "@agent",
  about: "Shows one agent: its profile, and what may be forwarded to it.",
  completes: ["handle"],
  parse: parseHandle,
  async execute({ agentId }: { readonly agentId: string }, context) {
    const entry = await context.controlPlane.entry(agentId);
    const { profileId, description, tags } = entry;
    const reply = [
      `Agent ${agentId}`,
      `Profile: ${profileId} ${modelLabel(profileId, context)}`,
      `Description: ${oneLine(description)}`,
      `Tags: ${listed(tags)}`,
      `Default forward skills: ${listed(entry.defaultForwardSkills)}`,
      `Allowed forward skills: ${listed(entry.allowedForwardSkills, "no restriction")}`,
      `Default MCP servers: ${listed(entry.defaultMcpServers)}`,
      `Allowed MCP servers: ${listed(entry.allowedMcpServers, "no restriction")}`,
    ].join("\n");
    return { reply, data: describeAgent(entry, context) };
  },
});

function listed(names: readonly string[] | undefined, absent = "none"): string {
  if (names === undefined) return absent;
  return names.length === 0 ? "none" : names.join(", ");
}
