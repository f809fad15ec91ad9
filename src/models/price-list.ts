import { costOf } from "../contracts/token-price.ts";
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
    return price === undefined ? 0 : costOf(price, usage);
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
