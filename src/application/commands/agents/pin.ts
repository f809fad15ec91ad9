import type { PinScope } from "../../../control/records/pins.ts";
import { defineCommand } from "../command.ts";
import { handleProblem, isProblem } from "../split-fields.ts";
import { parseScope, scopeForm } from "./pin-scope.ts";

export const pinAgent = defineCommand<{ readonly agentId: string; readonly scope: PinScope }>({
  name: "agents pin",
  form: `@agent ${scopeForm}`,
  about: "Makes the profile of an agent the default of a scope; without one, of the session.",
  completes: ["handle"],
  parse(rest) {
    const parsed = parseScope(rest);
    if (isProblem(parsed)) return parsed;
    const [agentId = "", ...more] = parsed.words;
    if (more.length > 0) return { problem: "It takes one agent." };
    return handleProblem(agentId) ?? { agentId, scope: parsed.scope };
  },
  async execute({ agentId, scope }, { controlPlane, pinContext }, principal) {
    const pin = await controlPlane.pinAgent(scope, agentId, pinContext, principal);
    const reply = `Pinned ${agentId} (${pin.profileId}) for ${scope} scope.`;
    return { reply, data: { agentId, ...pin } };
  },
});
