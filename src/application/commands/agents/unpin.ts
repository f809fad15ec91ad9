import type { PinScope } from "../../../control/records/pins.ts";
import { defineCommand } from "../command.ts";
import { isProblem } from "../split-fields.ts";
import { parseScope, scopeForm } from "./pin-scope.ts";

export const unpinAgent = defineCommand<{ readonly scope: PinScope }>({
  name: "agents unpin",
  form: scopeForm,
  about: "Removes the pin of a scope; without one, of the session.",
  parse(rest) {
    const parsed = parseScope(rest);
    if (isProblem(parsed)) return parsed;
    const { scope, words } = parsed;
    return words.length > 0 ? { problem: "It takes a scope alone." } : { scope };
  },
  async execute({ scope }, { controlPlane, pinContext }, principal) {
    const removed = await controlPlane.unpin(scope, pinContext, principal);
    const reply = removed ? `Removed pin for ${scope} scope.` : `No pin for ${scope} scope.`;
    return { reply, data: { scope, removed } };
  },
});
