import { costOf } from "../contracts/token-price.ts";
import type { PriceConfig } from "../control/config.ts";
import { findModelEntry } from "../control/find-model-entry.ts";
import { findShippedModel } from "../control/shipped-models.ts";
import type { ModelUsage } from "../ports/model.ts";
import { planModelName } from "./plan-model.ts";

/** What requests cost: by the configured prices, then by the shipped ones. */
export class PriceList {
  readonly #configured: Readonly<Record<string, PriceConfig>>;
  /** Asked after every turn, for the same few models. */
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
 * The models of Mandate itself send no bill. A local server may: it can pass requests on to a paid
 * service, so its models have the price that the person gives them, zero included.
 */
function isOwn(name: string): boolean {
  return name.startsWith("scripted/") || name === planModelName;
}

const nothing: PriceConfig = { input: 0, output: 0 };
