import { descriptionProblem } from "../../../control/records/agent-registry.ts";
import { defineCommand } from "../command.ts";
import { handleProblem, isProblem, splitFields } from "../split-fields.ts";

export const setDescription = defineCommand<{
  readonly agentId: string;
  readonly description: string;
}>({
  name: "agents set-description",
  form: "@agent | description",
  about: "Changes what models are told about an agent.",
  completes: ["handle"],
  parse(rest) {
    const fields = splitFields(rest, 2);
    if (isProblem(fields)) return fields;
    const [agentId = "", description = ""] = fields;
    const problem = descriptionProblem(description);
    const wrong = problem === undefined ? undefined : { problem: `description: ${problem}` };
    return handleProblem(agentId) ?? wrong ?? { agentId, description };
  },
  async execute({ agentId, description }, { controlPlane }, principal) {
    const { version } = await controlPlane.change(agentId, { description }, principal);
    return { reply: `Updated description of agent ${agentId}.`, data: { agentId, version } };
  },
});
