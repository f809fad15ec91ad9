import { requireRole } from "../../../control/records/principal.ts";
import { MandateError } from "../../../ports/mandate-error.ts";
import { defineCommand } from "../command.ts";
import { parseId } from "../parse-id.ts";

export const cancelWork = defineCommand<{ readonly id: string }>({
  name: "cancel",
  form: "<id>",
  about: "Cancels a run or a delegation, with everything below it. It can be resumed.",
  completes: ["open"],
  parse: parseId,
  async execute({ id }, { steering }, principal) {
    requireRole("steer-work", principal);
    const outcome = await steering.cancel(id, `cancelled by ${principal.id}`);
    if (outcome === "not_found") {
      throw new MandateError("unknown-delegation", `There is no run or delegation ${id}.`);
    }
    const isCancelled = outcome === "cancelled";
    const reply = isCancelled
      ? `Cancelled ${id}.`
      : `${id} had ended already; nothing was changed.`;
    return { reply, data: { id, outcome } };
  },
});
