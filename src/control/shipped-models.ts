import type { PriceConfig } from "./config.ts";

/** The known facts about a model. */
export interface ModelFacts {
  /** In tokens, prompt and answer together. */
  readonly contextWindow: number;
  readonly maxOutput: number;
  readonly price: PriceConfig;
}

/** The date on which the prices were compared with those of the providers. */
export const pricesAsOf = "2026-10-15";

const window1M = { contextWindow: 1_000_000, maxOutput: 128_000 };
const window200K = { contextWindow: 200_000, maxOutput: 64_000 };
const window1050K = { contextWindow: 1_050_000, maxOutput: 128_000 };
const window400K = { contextWindow: 400_000, maxOutput: 128_000 };
const windowGpt41 = { contextWindow: 1_047_576, maxOutput: 32_768 };
const windowGpt4o = { contextWindow: 128_000, maxOutput: 16_384 };
const windowGemini = { contextWindow: 1_048_576, maxOutput: 65_536 };

const sonnet3 = price(3, 15, 0.3, 3.75);
const opus5 = price(5, 25, 0.5, 6.25);
const opus15 = price(15, 75, 1.5, 18.75);

/**
 * US dollars for a million tokens; `models.prices` overrides them by model. Caps on cost depend on
 * these, so of two published prices, or before a discount ends, the higher one is listed. A model
 * without a known price is absent.
 */
const shippedModels: Readonly<Record<string, ModelFacts>> = {
  "anthropic/claude-fable-5-1": { ...window1M, price: price(10, 50, 0.25, 12.5) },
  "anthropic/claude-fable-5": { ...window1M, price: price(10, 50, 1, 12.5) },
  "anthropic/claude-opus-5-5": { ...window1M, price: price(4, 20, 0.2, 5) },
  "anthropic/claude-opus-5": { ...window1M, price: opus5 },
  "anthropic/claude-opus-4-8": { ...window1M, price: opus5 },
  "anthropic/claude-opus-4-7": { ...window1M, price: opus5 },
  "anthropic/claude-opus-4-6": { ...window1M, price: opus5 },
  "anthropic/claude-opus-4-5": { ...window200K, price: opus5 },
  "anthropic/claude-opus-4-1": { ...window200K, maxOutput: 32_000, price: opus15 },
  "anthropic/claude-opus-4-0": { ...window200K, maxOutput: 32_000, price: opus15 },
  "anthropic/claude-opus-4": { ...window200K, maxOutput: 32_000, price: opus15 },
  "anthropic/claude-sonnet-5-5": { ...window1M, price: price(2, 10, 0.2, 2.5) },
  "anthropic/claude-sonnet-5": { ...window1M, price: price(2, 10, 0.2, 2.5) },
  "anthropic/claude-sonnet-4-6": { ...window1M, maxOutput: 64_000, price: sonnet3 },
  "anthropic/claude-sonnet-4-5": { ...window200K, price: sonnet3 },
  "anthropic/claude-sonnet-4-0": { ...window200K, price: sonnet3 },
  "anthropic/claude-sonnet-4": { ...window200K, price: sonnet3 },
  "anthropic/claude-haiku-5-5": {
    ...window1M,
    price: {
      ...price(0.1, 0.5, 0.01, 0.125),
      longPrompt: { over: 100_000, ...price(0.5, 2.5, 0.05, 0.625) },
    },
  },
  "anthropic/claude-haiku-4-5": { ...window200K, price: price(1, 5, 0.1, 1.25) },

  "openai/gpt-6-astra": { ...window1050K, price: tiered(price(10, 50, 1, 12.5)) },
  "openai/gpt-6.1-sol": { ...window1050K, price: tiered(price(2, 10, 0.1, 2.5)) },
  "openai/gpt-6-sol": { ...window1050K, price: tiered(price(2, 10, 0.2, 2.5)) },
  "openai/gpt-6-luna": { ...window1050K, price: tiered(price(0.1, 0.5, 0.01, 0.125)) },
  "openai/gpt-5.6": { ...window1050K, price: tiered(price(4, 20, 0.4, 5)) },
  "openai/gpt-5.6-sol": { ...window1050K, price: tiered(price(4, 20, 0.4, 5)) },
  "openai/gpt-5.6-terra": { ...window1050K, price: tiered(price(2, 12, 0.2, 2.5)) },
  "openai/gpt-5.6-luna": { ...window1050K, price: tiered(price(0.2, 1.2, 0.02, 0.25)) },
  "openai/gpt-5.5": { ...window1050K, price: tiered(price(5, 30, 0.5)) },
  "openai/gpt-5.4": { ...window1050K, price: tiered(price(2.5, 15, 0.25)) },
  "openai/gpt-5.4-mini": { ...window400K, price: price(0.75, 4.5, 0.075) },
  "openai/gpt-5.4-nano": { ...window400K, price: price(0.2, 1.25, 0.02) },
  "openai/gpt-5.3-codex": { ...window400K, price: price(1.75, 14, 0.175) },
  "openai/gpt-5.2-codex": { ...window400K, price: price(1.75, 14, 0.175) },
  "openai/gpt-5.2": { ...window400K, price: price(1.75, 14, 0.175) },
  "openai/gpt-5.1": { ...window400K, price: price(1.25, 10, 0.125) },
  "openai/gpt-5": { ...window400K, price: price(1.25, 10, 0.125) },
  "openai/gpt-5-mini": { ...window400K, price: price(0.25, 2, 0.025) },
  "openai/gpt-5-nano": { ...window400K, price: price(0.05, 0.4, 0.005) },
  "openai/gpt-4.1": { ...windowGpt41, price: price(2, 8, 0.5) },
  "openai/gpt-4.1-mini": { ...windowGpt41, price: price(0.4, 1.6, 0.1) },
  "openai/gpt-4.1-nano": { ...windowGpt41, price: price(0.1, 0.4, 0.025) },
  "openai/gpt-4o": { ...windowGpt4o, price: price(2.5, 10, 1.25) },
  "openai/gpt-4o-mini": { ...windowGpt4o, price: price(0.15, 0.6, 0.075) },
  "openai/o3": { contextWindow: 200_000, maxOutput: 100_000, price: price(2, 8, 0.5) },
  "openai/o4-mini": { contextWindow: 200_000, maxOutput: 100_000, price: price(1.1, 4.4, 0.275) },

  "google/gemini-4-argon": { ...windowGemini, price: price(4, 20, 0.2) },
  "google/gemini-3.8-flash": { ...windowGemini, price: price(1.5, 7.5, 0.15) },
  "google/gemini-3.7-flash": { ...windowGemini, price: price(1.5, 7.5, 0.15) },
  "google/gemini-3.6-flash": { ...windowGemini, price: price(1.5, 7.5, 0.15) },
  "google/gemini-3.5-flash": { ...windowGemini, price: price(1.5, 9, 0.15) },
  "google/gemini-3.5-flash-lite": { ...windowGemini, price: price(0.3, 2.5, 0.03) },
  "google/gemini-3.1-flash-lite": { ...windowGemini, price: price(0.25, 1.5, 0.025) },
  "google/gemini-3.1-pro-preview": {
    ...windowGemini,
    price: { ...price(2, 12, 0.2), longPrompt: { over: 200_000, ...price(4, 18, 0.4) } },
  },
  "google/gemini-3-flash-preview": { ...windowGemini, price: price(0.5, 3, 0.05) },
  "google/gemini-2.5-pro": {
    ...windowGemini,
    price: { ...price(1.25, 10, 0.125), longPrompt: { over: 200_000, ...price(2.5, 15, 0.25) } },
  },
  "google/gemini-2.5-flash": { ...windowGemini, price: price(0.3, 2.5, 0.03) },
  "google/gemini-2.5-flash-lite": { ...windowGemini, price: price(0.1, 0.4, 0.01) },
};

/** The names of a provider's models, without the provider. */
export function shippedModelNames(provider: string): readonly string[] {
  const prefix = `${provider}/`;
  return Object.keys(shippedModels)
    .filter((name) => name.startsWith(prefix))
    .map((name) => name.slice(prefix.length));
}

/** The facts of a model by `provider/model`; a dated snapshot has those of its plain name. */
export function findShippedModel(name: string): ModelFacts | undefined {
  // The model as another API of the same provider names it.
  return findModelEntry(shippedModels, name.replace(/^openai-chat\//, "openai/"));
}

function price(input: number, output: number, cachedInput: number, cacheWrite?: number) {
  return { input, output, cachedInput, ...(cacheWrite === undefined ? {} : { cacheWrite }) };
}

/**
 * OpenAI's rule for long prompts: twice the price of input, one and a half times the price of
 * output.
 */
function tiered(base: ReturnType<typeof price>): PriceConfig {
  const { input, output, cachedInput, cacheWrite } = base;
  const write = cacheWrite === undefined ? undefined : cacheWrite * 2;
  const long = price(input * 2, output * 1.5, cachedInput * 2, write);
  return { ...base, longPrompt: { over: 272_000, ...long } };
}

/**
 * Pools: names for models, tried in order; the first that is available and allowed is used. Agent
 * files of other programs use these names; `models.pools` overrides them one by one. Models of
 * similar strength and price of other providers follow, so that an agent for one provider runs with
 * the key of another.
 */
export const shippedPools: Readonly<Record<string, readonly string[]>> = {
  opus: [
    "anthropic/claude-opus-5-5",
    "anthropic/claude-opus-5",
    "openrouter/anthropic/claude-opus-5.5",
    "openai/gpt-6.1-sol",
    "google/gemini-4-argon",
    "google/gemini-3.1-pro-preview",
  ],
  sonnet: [
    "anthropic/claude-sonnet-5-5",
    "anthropic/claude-sonnet-5",
    "openrouter/anthropic/claude-sonnet-5.5",
    "openai/gpt-6.1-sol",
    "google/gemini-3.8-flash",
  ],
  haiku: [
    "anthropic/claude-haiku-5-5",
    "anthropic/claude-haiku-4-5",
    "openrouter/anthropic/claude-haiku-5.5",
    "openai/gpt-6-luna",
    "google/gemini-3.5-flash-lite",
  ],
  smart: [
    "anthropic/claude-opus-5-5",
    "openai/gpt-6.1-sol",
    "google/gemini-4-argon",
    "google/gemini-3.1-pro-preview",
    "openrouter/anthropic/claude-opus-5.5",
  ],
  fast: [
    "anthropic/claude-haiku-5-5",
    "openai/gpt-6-luna",
    "google/gemini-3.5-flash-lite",
    "openrouter/anthropic/claude-haiku-5.5",
  ],
};

/**
 * The entry of a model in a table. A dated snapshot (`gpt-5-2025-08-07`,
 * `claude-haiku-4-5@20251001`) without its own entry has that of its plain name.
 */
export function findModelEntry<Entry>(
  entries: Readonly<Record<string, Entry>>,
  name: string,
): Entry | undefined {
  for (const each of [name, withoutSnapshot(name)]) {
    if (Object.hasOwn(entries, each)) return entries[each];
  }
  return undefined;
}

function withoutSnapshot(name: string): string {
  return name.replace(/(?:[-@]\d{4}-?\d{2}-?\d{2}|-\d{3,4}|:latest)$/, "");
}
