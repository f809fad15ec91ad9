import { diagnoseMachine } from "../../../diagnose.ts";
import type { Io } from "../io.ts";
import { suggestLocalModel } from "../setup/suggest-local-model.ts";
import { styleFor } from "../style.ts";

export interface NextStep {
  readonly command: string;
  readonly about: string;
}

/** What to type to have a language model at work: by what this machine has already. */
export async function nextStep(io: Io): Promise<NextStep> {
  const { models } = await diagnoseMachine(io.environment, undefined);
  const serve = `${io.program} serve`;
  if (models.default !== null && !models.default.startsWith("scripted/")) {
    return { command: serve, about: `the same with ${models.default}, which you have set up` };
  }
  const [local] = models.local.flatMap((endpoint) => suggestLocalModel(endpoint) ?? []);
  if (local !== undefined) {
    const about = `the same with ${local}, which answers on this machine`;
    return { command: `MANDATE_MODEL=${local} ${serve}`, about };
  }
  const { ellipsis } = styleFor(io.stdout, io).glyphs;
  return {
    command: `ANTHROPIC_API_KEY=${ellipsis} ${serve}`,
    about: `the same with a language model (${io.program} doctor: others, and local ones)`,
  };
}
