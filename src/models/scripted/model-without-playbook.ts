import { type Model, ModelFault } from "../../ports/model.ts";
import { clip, oneLine } from "../../text.ts";
import { scriptedModel } from "./scripted-model.ts";

/**
 * The scripted model when it is named and no playbook is given. Its answer says that nothing was
 * done; it never answers in place of a language model that is missing.
 */
export const modelWithoutPlaybook: Model = scriptedModel(({ caller }) => {
  // An exit rule asked for more than this answer: it has no other.
  if (caller.turn > 1) {
    throw new ModelFault(
      "unauthorized",
      "The scripted model has no playbook: give --playbook FILE.",
    );
  }
  const shown = clip(oneLine(caller.task), 121);
  return [
    `[scripted model] No playbook is given, so nothing was done about: ${shown}`,
    "Give scripted answers with --playbook FILE, or choose a language model with MANDATE_MODEL.",
  ].join("\n");
});
