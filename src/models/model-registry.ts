/**
 * The language models: providers, pools, prices, token counts and the scripted model. Everything else
 * gets a `Model` from this registry. The folder may import ports, contracts, agents and control.
 */
import type { ModelPolicy } from "../agents/profiles/profile.ts";
import { costOf, type TokenPrice } from "../contracts/token-price.ts";
import type { PriceConfig, ProviderConfig } from "../control/config.ts";
import { createModelAllowlist } from "../control/settle-models.ts";
import {
  findModelEntry,
  findShippedModel,
  type ModelFacts,
  pricesAsOf,
  shippedPools,
} from "../control/shipped-models.ts";
import { type Clock, systemClock } from "../ports/clock.ts";
import { MandateError } from "../ports/mandate-error.ts";
import type { Model, ModelUsage } from "../ports/model.ts";
import { aiSdkModel } from "./ai-sdk-model.ts";
import { callSettings } from "./call-settings.ts";
import { candidateModels, type ModelChoices, modelsOfPool } from "./candidate-models.ts";
import { createProviderFetch, loadLanguageModel } from "./load-language-model.ts";
import { runnerModels } from "./plan-model.ts";
import { builtInProviders } from "./provider-catalog.ts";
import { remedyFor } from "./remedy-for.ts";
import {
  type Environment,
  keyIn,
  keyVariableOf,
  type ProviderSettings,
  resolveProvider,
} from "./resolve-provider.ts";
import { modelWithoutPlaybook } from "./scripted/scripted-model.ts";
import { TokenCounter } from "./token-counter.ts";

/** The `models:` block of mandate.yaml, already validated. */
export interface ModelsConfig {
  /** `provider/model`. */
  readonly default?: string;
  readonly defaultPool?: string;
  /** Names or `provider/*`; absent: no restriction. */
  readonly allow?: readonly string[];
  /** Custom providers, or others than the built-in ones under their names. */
  readonly providers?: Readonly<Record<string, ProviderConfig>>;
  /** Prices by `provider/model`, in place of the shipped ones. */
  readonly prices?: Readonly<Record<string, PriceConfig>>;
  /** Absent: the shipped ones. */
  readonly pools?: Readonly<Record<string, readonly string[]>>;
}

export interface ModelRegistry {
  /**
   * The model of that name; nothing is loaded or asked yet. Throws a MandateError that says what to
   * do: "unknown-model", "model-not-configured", or "refused-by-policy" when it is not allowed.
   */
  resolve(name: string): Model;
  /** Null: no model is configured. */
  readonly defaultModel: string | null;
  /** The models of a pool as it is written, reachable or not. */
  pool(name: string): readonly string[] | undefined;
  readonly pools: Readonly<Record<string, readonly string[]>>;
  /**
   * The models that a profile may run on, in the order in which they are tried, at least one. Throws
   * "unknown-model" for an unknown pool, "refused-by-policy" when none of them is allowed, and
   * "model-not-configured" with what to set when no model is configured or none can be reached.
   */
  candidates(policy: ModelPolicy): readonly string[];
  isAllowed(name: string): boolean;
  /** In dollars, by a price that was agreed, or by today's list; 0 when the model has none. */
  cost(name: string, usage: ModelUsage, agreed?: TokenPrice): number;
  /** One value for each model; undefined when nothing is known of one. */
  price(name: string): TokenPrice | undefined;
  /** The day the shipped prices are of. */
  readonly pricesAsOf: string;
  /** Tokens, prompt and answer together; undefined when the model is not known. */
  contextWindow(name: string): number | undefined;
  maxOutput(name: string): number | undefined;
}

export interface ModelRegistryOptions {
  readonly environment: Environment;
  readonly config?: ModelsConfig;
  /** The user's own, by `provider/model` or by provider; they come before everything else. */
  readonly models?: Readonly<Record<string, Model>>;
  /** The model of a playbook: it replaces every provider, so that no request costs money. */
  readonly scripted?: Model;
  readonly clock?: Clock;
}

export function createModelRegistry(options: ModelRegistryOptions): ModelRegistry {
  const { clock = systemClock, environment, config = {}, scripted } = options;
  const named = environment["MANDATE_MODEL"] || config.default;
  const { pools = shippedPools } = config;
  // Runners belong to no provider: they cannot be replaced, and allowlists do not apply to them.
  const own = { ...options.models, ...runnerModels };
  const resolved = new Map<string, Model>(Object.entries(own));
  const isListed = createModelAllowlist(config.allow);
  const isAllowed = (name: string): boolean => isRunner(name) || isListed(name);
  const prices = new PriceList(config.prices ?? {});
  /** Cached, since they are looked up before every turn. */
  const facts = new Map<string, ModelFacts | undefined>();
  const choices: ModelChoices = {
    pools,
    defaults: chooseDefaults(options, pools),
    // With a playbook every name resolves to the scripted model, so allowlists do not apply.
    isAllowed: scripted === undefined ? isAllowed : () => true,
    obstacleTo(name) {
      try {
        find(name);
        return undefined;
      } catch (error) {
        if (error instanceof MandateError) return error;
        throw error;
      }
    },
    keyVariableFor: (name) => keyVariableOf(name.slice(0, name.indexOf("/")), config),
  };

  function find(name: string): Model {
    const known = resolved.get(name);
    if (known !== undefined) return known;
    const slash = name.indexOf("/");
    const provider = name.slice(0, slash);
    const modelId = name.slice(slash + 1);
    if (slash < 1 || modelId === "") throw notAName(name);
    const model =
      resolved.get(provider) ??
      scripted ??
      (provider === "scripted"
        ? withoutPlaybook(name, named)
        : connectModel(modelId, {
            settings: resolveProvider(provider, environment, config),
            keyVariable: config.providers?.[provider]?.apiKey
              ? undefined
              : keyVariableOf(provider, config),
            clock,
          }));
    resolved.set(name, model);
    return model;
  }

  function factsOf(name: string): ModelFacts | undefined {
    if (!facts.has(name)) facts.set(name, findShippedModel(name));
    return facts.get(name);
  }

  return {
    defaultModel: firstReachable(choices),
    pool: (name) => (Object.hasOwn(pools, name) ? pools[name] : undefined),
    pools,
    candidates: remember((policy) => candidateModels(policy, choices)),
    isAllowed,
    cost: (name, usage, agreed) =>
      agreed === undefined ? prices.cost(name, usage) : costOf(agreed, usage),
    price: (name) => prices.find(name),
    pricesAsOf,
    contextWindow: (name) => factsOf(name)?.contextWindow,
    maxOutput: (name) => factsOf(name)?.maxOutput,
    resolve(name) {
      if (!isAllowed(name)) throw notAllowed(name, config.allow ?? []);
      return find(name);
    },
  };
}

/** A policy is a value of a profile and is asked for every delegation. */
function remember(candidates: ModelRegistry["candidates"]): ModelRegistry["candidates"] {
  const known = new WeakMap<ModelPolicy, readonly string[]>();
  return (policy) => {
    let models = known.get(policy);
    if (models === undefined) {
      models = candidates(policy);
      known.set(policy, models);
    }
    return models;
  };
}

function chooseDefaults(
  { environment, config, models, scripted }: ModelRegistryOptions,
  pools: Readonly<Record<string, readonly string[]>>,
): readonly string[] {
  if (scripted !== undefined) return [playbookModelName];
  const named = environment["MANDATE_MODEL"] || config?.default;
  if (named) return [named];
  const pool = config?.defaultPool;
  if (pool !== undefined) return modelsOfPool(pool, pools);
  const found = findDefaultModel(environment) ?? firstOf(models);
  return found === undefined ? [] : [found];
}

/** The default of a program that passes its own models and names none: the first of them. */
function firstOf(models: ModelRegistryOptions["models"]): string | undefined {
  const [first] = Object.keys(models ?? {});
  return first === undefined || first.includes("/") ? first : `${first}/default`;
}

/** The first default that can be reached; if none can, the first one, so that its error is shown. */
function firstReachable(choices: ModelChoices): string | null {
  const { defaults } = choices;
  const first = defaults.find((name) => choices.isAllowed(name) && !choices.obstacleTo(name));
  return first ?? defaults[0] ?? null;
}

/** The name under which a playbook answers when no model is named. */
const playbookModelName = "scripted/playbook";

/**
 * Names in stored contracts that no person chose: of a playbook, and of the fallback of earlier
 * versions. Such a run needs its playbook to continue.
 */
const unchosenNames = [playbookModelName, "scripted/default"];

function withoutPlaybook(name: string, named: string | undefined): Model {
  if (name === named || !unchosenNames.includes(name)) return modelWithoutPlaybook;
  throw new MandateError(
    "model-not-configured",
    `"${name}" answers from a playbook, and none is given: add --playbook FILE, or choose a model with MANDATE_MODEL.`,
  );
}

function notAName(name: string): MandateError {
  const message = `"${name}" is not a model: write provider/model, such as openai/gpt-6.1-sol.`;
  return new MandateError("unknown-model", message);
}

function notAllowed(name: string, allow: readonly string[]): MandateError {
  const message = `The model "${name}" is not allowed here: models.allow lists ${allow.join(", ") || "none"}.`;
  return new MandateError("refused-by-policy", message);
}

/**
 * The model that runs when no configuration names one: that of the first provider with a key, then
 * an Ollama whose address is set. A local server that might be running is not guessed. Undefined:
 * there is no model, and no work starts.
 */
function findDefaultModel(environment: Environment): string | undefined {
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

/** A provider's model; its client is loaded by the first request. */
function connectModel(
  modelId: string,
  connection: {
    readonly settings: ProviderSettings;
    readonly keyVariable: string | undefined;
    readonly clock: Clock;
  },
): Model {
  const { clock, settings } = connection;
  const { apiKey, headers, kind, provider } = settings;
  const fetch = createProviderFetch(clock);
  let client: ReturnType<typeof loadLanguageModel> | undefined;
  const source = () => {
    client ??= loadLanguageModel(settings, modelId, fetch);
    return client;
  };
  const answer = aiSdkModel(source, {
    secrets: [...(apiKey === undefined ? [] : [apiKey]), ...Object.values(headers)],
    settings: (request, isBare) => callSettings({ provider, kind, modelId, isBare }, request),
    // The other providers cache by themselves.
    hasCacheBreakpoints: kind === "anthropic",
    speaksGemini: kind === "google",
    remedy: (fault, signal) => remedyFor(fault, { ...connection, modelId, fetch, signal }),
    clock,
  });
  const counter = new TokenCounter(settings, modelId, fetch);
  const ask: Model = async (request, onPart) => {
    const reply = await answer(request, onPart);
    counter.learn(request.messages, reply.usage);
    return reply;
  };
  return Object.assign(ask, { countTokens: counter.count });
}

/** What requests cost: by the configured prices, then by the shipped ones. */
export class PriceList {
  readonly #configured: Readonly<Record<string, PriceConfig>>;
  /** Cached, since it is looked up after every turn. */
  readonly #known = new Map<string, PriceConfig | undefined>();

  constructor(configured: Readonly<Record<string, PriceConfig>>) {
    this.#configured = configured;
  }

  find(name: string): PriceConfig | undefined {
    if (this.#known.has(name)) return this.#known.get(name);
    const price =
      findModelEntry(this.#configured, name) ??
      findShippedModel(name)?.price ??
      (isOwn(name) ? nothing : undefined);
    this.#known.set(name, price);
    return price;
  }

  /** In dollars; 0 when the price is not known. */
  cost(name: string, usage: ModelUsage): number {
    const price = this.find(name);
    return price === undefined ? 0 : costOf(price, usage);
  }
}

/**
 * Mandate's own models are free. Models of a local server have the configured price: such a server
 * can be a proxy to a paid service.
 */
function isOwn(name: string): boolean {
  return name.startsWith("scripted/") || isRunner(name);
}

function isRunner(name: string): boolean {
  return Object.hasOwn(runnerModels, name);
}

const nothing: PriceConfig = { input: 0, output: 0 };
