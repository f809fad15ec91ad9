import { descriptionProblem } from "../../control/records/check-agents.ts";
import { defineCommand } from "../command.ts";
import { handleProblem, isProblem, splitFields } from "../split-fields.ts";

interface Registration {
  readonly agentId: string;
  readonly profileId: string;
  readonly description: string;
}

/** An agent that is registered already gets the new profile and description, and keeps the rest. */
export const registerAgent = defineCommand<Registration>({
  name: "agents register",
  form: "@agent | profile | description",
  about: "Registers an agent, or gives one another profile and description.",
  parse(rest) {
    const fields = splitFields(rest, 3);
    if (isProblem(fields)) return fields;
    const [agentId = "", profileId = "", description = ""] = fields;
    const problem = descriptionProblem(description);
    const wrong = problem === undefined ? undefined : { problem: `description: ${problem}` };
    return handleProblem(agentId) ?? wrong ?? { agentId, profileId, description };
  },
  async execute(entry, { controlPlane }, principal) {
    const { version } = await controlPlane.register(entry, principal);
    const reply = `Registered agent ${entry.agentId} -> ${entry.profileId}.`;
    return { reply, data: { ...entry, version } };
  },
});
