import { defineCommand } from "../command.ts";
import { parseHandle } from "../split-fields.ts";

export const unregisterAgent = defineCommand({
  name: "agents unregister",
  form: "@agent",
  about: "Takes an agent out of the registry. Its profile stays.",
  completes: ["handle"],
  parse: parseHandle,
  async execute({ agentId }: { readonly agentId: string }, { controlPlane }, principal) {
    const { version } = await controlPlane.unregister(agentId, principal);
    return { reply: `Unregistered agent ${agentId}.`, data: { agentId, version } };
  },
});
