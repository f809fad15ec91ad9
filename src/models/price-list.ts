import type { PriceConfig } from "../control/config.ts";
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

  /** What runs on one's own machine, or reads from a playbook, sends no bill. */
  #isFree(name: string): boolean {
    const provider = name.slice(0, name.indexOf("/"));
    if (provider === "scripted") return true;
    if (Object.hasOwn(this.#providers, provider)) return false;
    return Object.hasOwn(builtInProviders, provider) && !!builtInProviders[provider]?.isLocal;
  }
}

const nothing: PriceConfig = { input: 0, output: 0 };
