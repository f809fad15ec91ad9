import { requireRole } from "../../control/records/require-role.ts";
import { defineCommand } from "../command.ts";
import { parseId } from "../parse-id.ts";

export const resumeWork = defineCommand<{ readonly id: string }>({
  name: "resume",
  form: "<id>",
  about: "Goes on with what was interrupted, cancelled or failed, under the contract that it had.",
  completes: ["run"],
  parse: parseId,
  async execute({ id }, { steering }, principal) {
    requireRole("steer-work", principal);
    const resumed = await steering.resume(id);
    const { as, delegationId, runId } = resumed;
    const reply =
      as === "same"
        ? `Run ${runId} goes on where it stopped.`
        : `Resumed ${id} as ${delegationId} in run ${runId}.`;
    return { reply, data: { id, ...resumed } };
  },
});
