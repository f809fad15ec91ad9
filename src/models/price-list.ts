import type { TokenPrice, TokenRates } from "../contracts/token-price.ts";
import type { PriceConfig, PriceRates } from "../control/config.ts";
import { findModelEntry } from "../control/find-model-entry.ts";
import { findShippedModel } from "../control/shipped-models.ts";
import type { ModelUsage } from "../ports/model.ts";
import { builtInProviders } from "./provider-catalog.ts";

/** What requests cost: by the configured prices, then by the shipped ones. */
export class PriceList {
  readonly #configured: Readonly<Record<string, PriceConfig>>;
  readonly #providers: Readonly<Record<string, unknown>>;
  /** Asked after every turn, for the same few models. */
  readonly #known = new Map<string, PriceConfig | undefined>();
  readonly #dearest = new Map<string, TokenPrice | undefined>();

  /** `providers` are the configured ones, which may be others than the built-in ones of their name. */
  constructor(
    configured: Readonly<Record<string, PriceConfig>>,
    providers: Readonly<Record<string, unknown>>,
  ) {
    this.#configured = configured;
    this.#providers = providers;
  }

  find(name: string): PriceConfig | undefined {
    if (this.#known.has(name)) return this.#known.get(name);
    const price =
      findModelEntry(this.#configured, name) ??
      findShippedModel(name)?.price ??
      (this.#isFree(name) ? nothing : undefined);
    this.#known.set(name, price);
    return price;
  }

  /** In dollars; 0 when the price is not known. */
  cost(name: string, usage: ModelUsage): number {
    const price = this.find(name);
    if (price === undefined) return 0;
    const { prompt, completion, cached = 0, cacheWrite = 0 } = usage;
    const { longPrompt } = price;
    const rates = longPrompt !== undefined && prompt > longPrompt.over ? longPrompt : price;
    // Counts that contradict each other must not give money back.
    const fresh = Math.max(0, prompt - cached - cacheWrite);
    return (
      (fresh * rates.input +
        cached * (rates.cachedInput ?? rates.input) +
        cacheWrite * (rates.cacheWrite ?? rates.input) +
        completion * rates.output) /
      1_000_000
    );
  }

  /** Undefined when nothing is known of a price, or it is nothing. One value for each model. */
  dearest(name: string): TokenPrice | undefined {
    if (this.#dearest.has(name)) return this.#dearest.get(name);
    const price = this.find(name);
    const dearest = price === undefined ? undefined : dearestOf(price);
    this.#dearest.set(name, dearest);
    return dearest;
  }

  /** What runs on one's own machine, or reads from a playbook, sends no bill. */
  #isFree(name: string): boolean {
    const provider = name.slice(0, name.indexOf("/"));
    if (provider === "scripted") return true;
    if (Object.hasOwn(this.#providers, provider)) return false;
    return Object.hasOwn(builtInProviders, provider) && !!builtInProviders[provider]?.isLocal;
  }
}

const nothing: PriceConfig = { input: 0, output: 0 };

/** Nobody knows before a request how much of its prompt comes from a cache, or goes to one. */
function dearestOf({ longPrompt, ...rates }: PriceConfig): TokenPrice | undefined {
  const usual = dearestRates(rates);
  const long = longPrompt && { over: longPrompt.over, ...dearestRates(longPrompt) };
  const isFree = [usual, long].every((each) => !each || each.input + each.output === 0);
  return isFree ? undefined : { ...usual, ...(long && { long }) };
}

function dearestRates({ cachedInput = 0, cacheWrite = 0, input, output }: PriceRates): TokenRates {
  return { input: Math.max(input, cachedInput, cacheWrite), output };
}
