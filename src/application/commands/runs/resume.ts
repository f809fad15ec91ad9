import { requireRole } from "../../../control/records/principal.ts";
import { defineCommand } from "../command.ts";
import { parseId } from "../parse-id.ts";
import { describeResumed } from "./describe-resumed.ts";

export const resumeWork = defineCommand<{ readonly id: string }>({
  name: "resume",
  form: "<id>",
  about:
    "Resumes what was paused, interrupted, cancelled or failed, under the contract that it had.",
  completes: ["run"],
  parse: parseId,
  async execute({ id }, { steering }, principal) {
    requireRole("steer-work", principal);
    const resumed = await steering.resume(id);
    return { reply: describeResumed(resumed, id), data: { id, ...resumed } };
  },
});
