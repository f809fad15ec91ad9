import { descriptionProblem } from "../../../control/records/agent-registry.ts";
import { defineCommand } from "../command.ts";
import { handleProblem, isProblem, splitFields } from "../split-fields.ts";

interface Registration {
  readonly agentId: string;
  readonly profileId: string;
  readonly description: string;
}

/**
 * An entry without default lists forwards no skills and servers, so the profile's own are written
 * into it. An agent that is registered already keeps its lists and tags; with another profile, it
 * gets the default lists of that one.
 */
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
  async execute({ agentId, description, profileId }, context, principal) {
    const { controlPlane } = context;
    const { registry } = await controlPlane.registry();
    const before = registry.agents.find((each) => each.agentId === agentId);
    const isOther = before?.profileId !== profileId;
    const { servers = [], skills = [] } = context.describeProfile(profileId) ?? {};
    const isSaid = (list: readonly string[], known: readonly string[] | undefined): boolean =>
      isOther && (list.length > 0 || known !== undefined);
    const entry = {
      ...{ agentId, profileId, description },
      ...(isSaid(skills, before?.defaultForwardSkills) && { defaultForwardSkills: skills }),
      ...(isSaid(servers, before?.defaultMcpServers) && { defaultMcpServers: servers }),
    };
    const { version } = await controlPlane.register(entry, principal);
    return { reply: `Registered agent ${agentId} -> ${profileId}.`, data: { ...entry, version } };
  },
});
