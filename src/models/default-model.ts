import { builtInProviders } from "./provider-catalog.ts";
import { type Environment, keyIn } from "./resolve-provider.ts";

/**
 * The model that runs when no configuration names one: that of the first provider with a key, then
 * an Ollama whose address is set. A local server that might be running is not guessed. Undefined:
 * there is no model, and no work starts.
 */
export function findDefaultModel(environment: Environment): string | undefined {
  for (const [provider, builtIn] of Object.entries(builtInProviders)) {
    const { defaultModel, needsKey } = builtIn;
    if (defaultModel === undefined || !needsKey) continue;
    if (keyIn(environment, builtIn)) return `${provider}/${defaultModel}`;
  }
  if (environment["OLLAMA_HOST"]) {
    return `ollama/${environment["OLLAMA_MODEL"] || builtInProviders["ollama"]?.defaultModel}`;
  }
  return undefined;
}
