import { MandateError } from "../ports/mandate-error.ts";
import type { Model, ModelUsage } from "../ports/model.ts";
import { aiSdkModel } from "./ai-sdk-model.ts";
import { findDefaultModel } from "./default-model.ts";
import { loadLanguageModel, requestOptions } from "./load-language-model.ts";
import type { ProviderKind } from "./provider-catalog.ts";
import { type Environment, type ProviderSettings, resolveProvider } from "./resolve-provider.ts";
import { unconfiguredModel } from "./scripted/unconfigured-model.ts";

/** The `models:` block of mandate.yaml, already validated. */
export interface ModelsConfig {
  /** `provider/model`. */
  readonly default?: string;
  /** Names or `provider/*`; absent: no restriction. */
  readonly allow?: readonly string[];
  /** Custom providers, or others than the built-in ones under their names. */
  readonly providers?: Readonly<Record<string, ProviderConfig>>;
  /** By `provider/model`. */
  readonly prices?: Readonly<Record<string, Price>>;
}

export interface ProviderConfig {
  readonly kind: ProviderKind;
  readonly baseUrl?: string;
  readonly apiKey?: string;
  /** The variable that holds the key. */
  readonly apiKeyEnv?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Dollars per million tokens. */
export interface Price {
  readonly input: number;
  readonly output: number;
  readonly cachedInput?: number;
}

export interface ModelRegistry {
  /**
   * The model of that name; nothing is loaded or asked yet. Throws a MandateError that says what to
   * do: "unknown-model", "model-not-configured", or "refused-by-policy" when it is not allowed.
   */
  resolve(name: string): Model;
  readonly defaultModel: string;
  isAllowed(name: string): boolean;
  /** In dollars, by the configured prices; 0 when the model has none. */
  cost(name: string, usage: ModelUsage): number;
  readonly prices: Readonly<Record<string, Price>>;
}

export interface ModelRegistryOptions {
  readonly environment: Environment;
  readonly config?: ModelsConfig;
  /** The user's own, by `provider/model` or by provider; they come before everything else. */
  readonly models?: Readonly<Record<string, Model>>;
  /** A playbook is being run: it answers in place of every provider, so that none is paid. */
  readonly scripted?: Model;
}

export function createModelRegistry(options: ModelRegistryOptions): ModelRegistry {
  const { environment, config = {}, scripted } = options;
  const resolved = new Map<string, Model>(Object.entries(options.models ?? {}));
  const isAllowed = createAllowlist(config.allow);

  function find(name: string): Model {
    const slash = name.indexOf("/");
    const provider = name.slice(0, slash);
    const modelId = name.slice(slash + 1);
    if (slash < 1 || modelId === "") throw notAName(name);
    const users = resolved.get(provider);
    if (users !== undefined) return users;
    if (scripted !== undefined) return scripted;
    if (provider === "scripted") return unconfiguredModel;
    return connect(resolveProvider(provider, environment, config), modelId);
  }

  return {
    defaultModel: chooseDefault(options),
    isAllowed,
    prices: config.prices ?? {},
    cost: createPricing(config.prices ?? {}),
    resolve(name) {
      if (!isAllowed(name)) throw notAllowed(name, config.allow ?? []);
      let model = resolved.get(name);
      if (model === undefined) {
        model = find(name);
        resolved.set(name, model);
      }
      return model;
    },
  };
}

function chooseDefault({ environment, config, scripted }: ModelRegistryOptions): string {
  if (scripted !== undefined) return "scripted/playbook";
  return environment["MANDATE_MODEL"] || config?.default || findDefaultModel(environment);
}

function connect(settings: ProviderSettings, modelId: string): Model {
  const { apiKey, headers, kind } = settings;
  const secrets = [...(apiKey === undefined ? [] : [apiKey]), ...Object.values(headers)];
  const providerOptions = requestOptions[kind];
  let client: ReturnType<typeof loadLanguageModel> | undefined;
  const source = () => {
    client ??= loadLanguageModel(settings, modelId);
    return client;
  };
  return aiSdkModel(source, { secrets, ...(providerOptions && { providerOptions }) });
}

function createAllowlist(allow: readonly string[] | undefined): (name: string) => boolean {
  if (allow === undefined) return () => true;
  const exact = new Set(allow);
  const prefixes = allow.filter((each) => each.endsWith("*")).map((each) => each.slice(0, -1));
  return (name) => exact.has(name) || prefixes.some((prefix) => name.startsWith(prefix));
}

function createPricing(prices: Readonly<Record<string, Price>>): ModelRegistry["cost"] {
  const byName = new Map(Object.entries(prices));
  return (name, { prompt, completion, cached = 0 }) => {
    const price = byName.get(name);
    if (price === undefined) return 0;
    const cachedPrice = price.cachedInput ?? price.input;
    const input = (prompt - cached) * price.input + cached * cachedPrice;
    return (input + completion * price.output) / 1_000_000;
  };
}

function notAName(name: string): MandateError {
  const message = `"${name}" is not a model: write provider/model, such as openai/gpt-6-astra.`;
  return new MandateError("unknown-model", message);
}

function notAllowed(name: string, allow: readonly string[]): MandateError {
  const message = `The model "${name}" is not allowed here: models.allow lists ${allow.join(", ") || "none"}.`;
  return new MandateError("refused-by-policy", message);
}
