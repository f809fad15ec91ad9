import type { Model } from "../../ports/model.ts";
import { ModelFault } from "../../ports/model-fault.ts";
import { scriptedModel } from "./scripted-model.ts";

const whatToSet = [
  "Set ANTHROPIC_API_KEY, OPENAI_API_KEY, GOOGLE_GENERATIVE_AI_API_KEY or OPENROUTER_API_KEY; or",
  "MANDATE_MODEL=ollama/<model> for a local one, which `mandate doctor` finds; or give scripted",
  "answers with --playbook FILE.",
];

/**
 * Who answers when there is no key, no local endpoint and no playbook. It says what it is and what to
 * set, and does not pretend to have done anything.
 */
export const unconfiguredModel: Model = scriptedModel(({ caller }) => {
  // Told to do more than say so, it can only fail: nobody has to be asked what it shall do next.
  if (caller.turn > 1) {
    throw new ModelFault("unauthorized", `No language model is configured. ${whatToSet.join(" ")}`);
  }
  const task = caller.task.replaceAll(/\s+/g, " ").trim();
  const shown = task.length > 120 ? `${task.slice(0, 120)}…` : task;
  return [
    `[scripted model] No language model is configured, so nothing was done about: ${shown}`,
    ...whatToSet,
  ].join("\n");
});
