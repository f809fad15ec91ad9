import { builtInProviders } from "./provider-catalog.ts";
import type { Environment } from "./resolve-provider.ts";

/**
 * The model when nobody named one: the first provider that has a key, then an Ollama that was pointed
 * to. A local server that merely might be running is not guessed at. With none of them the scripted
 * model answers, and says so.
 */
export function findDefaultModel(environment: Environment): string {
  for (const [provider, { defaultModel, keyVariable, needsKey }] of Object.entries(
    builtInProviders,
  )) {
    if (defaultModel === undefined || !needsKey || keyVariable === undefined) continue;
    if (environment[keyVariable]) return `${provider}/${defaultModel}`;
  }
  if (environment["OLLAMA_HOST"]) {
    return `ollama/${environment["OLLAMA_MODEL"] || builtInProviders["ollama"]?.defaultModel}`;
  }
  return unconfiguredModelName;
}

const unconfiguredModelName = "scripted/default";
