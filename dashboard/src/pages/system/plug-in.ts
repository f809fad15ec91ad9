import type { Operations } from "../../../../src/surfaces/client/mandate-client.ts";

export type SystemReport = Operations["getSystem"]["reply"];
type Provider = SystemReport["models"]["providers"][number];

/** A server on this machine that answered just now. */
export interface LocalServer {
  readonly provider: string;
  readonly models: readonly string[];
}

/** What a server lists is untrusted text, and its form is not promised. */
export function localServers(found: SystemReport["models"]["local"]): readonly LocalServer[] {
  return found.flatMap(({ models, provider }) => {
    if (typeof provider !== "string" || !Array.isArray(models)) return [];
    return [{ provider, models: models.filter((name) => typeof name === "string") }];
  });
}

/** What makes a local server the one that answers; undefined: it is already, or has no model. */
export function localCommand(
  { models, provider }: LocalServer,
  defaultModel: string | null,
): string | undefined {
  const name = models.find((model) => !/embed/i.test(model) && /^[\w.:@/+-]{1,200}$/.test(model));
  if (name === undefined || defaultModel?.startsWith(`${provider}/`)) return undefined;
  return `export MANDATE_MODEL=${provider}/${name}`;
}

/** What to do to reach a provider; a sentence where it is no variable. */
export function providerAdvice({ isUsable, set }: Provider): {
  readonly command: string | null;
  readonly sentence: string;
} {
  if (isUsable) return { command: null, sentence: "Configured" };
  if (set === undefined) return { command: null, sentence: "Not configured" };
  if (!/^[A-Z][A-Z0-9_]*$/.test(set)) return { command: null, sentence: set };
  const value = set.endsWith("_URL") ? "http://127.0.0.1:PORT/v1" : "…";
  return { command: `export ${set}=${value}`, sentence: "Not configured" };
}

export function isScripted(model: string | null): boolean {
  return model?.startsWith("scripted/") === true;
}

/** Whether a run was begun on a playbook: the programs that do that name their runs so. */
export function isScriptedApplication(application: string): boolean {
  return application === "demo" || application.startsWith("playbook:");
}

const serverNames: Readonly<Record<string, string>> = {
  ollama: "Ollama",
  lmstudio: "LM Studio",
  llamacpp: "llama.cpp",
  vllm: "vLLM",
};

/** The name of a provider as its makers write it. */
export function serverName(provider: string): string {
  return Object.hasOwn(serverNames, provider) ? (serverNames[provider] ?? provider) : provider;
}

/** Providers whose key is set: they answer as soon as no playbook does. Local servers have none. */
export function usableProviders({ providers }: SystemReport["models"]): readonly string[] {
  return providers
    .filter(({ isUsable, provider }) => isUsable && !Object.hasOwn(serverNames, provider))
    .map(({ provider }) => provider);
}

/** What can be held here, and what not: the words of the server decide. */
export function isEnforced(part: "files" | "shell" | "copies", words: string): boolean {
  if (part === "files") return true;
  return part === "shell"
    ? words.startsWith("in a sandbox")
    : words.startsWith("children that write work");
}
