import { defineCommand } from "../command.ts";
import { handleProblem, isProblem, splitFields, splitNames } from "../split-fields.ts";

export const setTags = defineCommand<{ readonly agentId: string; readonly tags: string[] }>({
  name: "agents set-tags",
  form: "@agent | tag, tag",
  about: "Replaces the tags of an agent.",
  completes: ["handle"],
  parse(rest) {
    const fields = splitFields(rest, 2);
    if (isProblem(fields)) return fields;
    const [agentId = "", tags = ""] = fields;
    return handleProblem(agentId) ?? { agentId, tags: [...splitNames(tags)] };
  },
  async execute({ agentId, tags }, { controlPlane }, principal) {
    const { version } = await controlPlane.change(agentId, { tags }, principal);
    return { reply: `Updated tags of agent ${agentId}.`, data: { agentId, version } };
  },
});
