import { defineCommand } from "../command.ts";
import { handleProblem, isProblem, splitFields } from "../split-fields.ts";

export const setProfile = defineCommand<{ readonly agentId: string; readonly profileId: string }>({
  name: "agents set-profile",
  form: "@agent | profile",
  about: "Leads an agent to another profile.",
  completes: ["handle"],
  parse(rest) {
    const fields = splitFields(rest, 2);
    if (isProblem(fields)) return fields;
    const [agentId = "", profileId = ""] = fields;
    return handleProblem(agentId) ?? { agentId, profileId };
  },
  async execute({ agentId, profileId }, { controlPlane }, principal) {
    const { version } = await controlPlane.change(agentId, { profileId }, principal);
    const reply = `Updated profile of agent ${agentId} -> ${profileId}.`;
    return { reply, data: { agentId, profileId, version } };
  },
});
