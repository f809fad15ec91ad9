import type { Narrowing, Refused } from "./narrow.ts";
import type { ReceiptLine } from "./receipt.ts";
import { includes, intersect, type Selection } from "./selection.ts";

export interface NarrowedModels {
  readonly model: string;
  /** In order, for when the model cannot be had. */
  readonly fallbacks: readonly string[];
  readonly allow: Selection;
}

/**
 * Which models the child runs on: the profile's own choice, in its order, as far as the caller may
 * hand it on. An override chooses among what the profile allows; anything else is clamped.
 */
export function narrowModels(
  { ceiling, profile, request, rules }: Narrowing,
  receipt: ReceiptLine[],
): NarrowedModels | Refused {
  const permitted = (model: string): boolean =>
    rules.allowsModel(model) && includes(ceiling.authority.models, model);
  const choices = [profile.model, ...(profile.fallbacks ?? [])];
  const [first, ...fallbacks] = [...new Set(choices)].filter(permitted);
  if (first === undefined) {
    return {
      allowed: false,
      rule: "models",
      reason: `"${profile.name}" runs on ${choices.join(" or ")}, which its caller may not hand on or the operator does not allow.`,
    };
  }
  const policy = [...choices, ...(profile.modelAllow ?? [])];
  const allow = intersect(policy.filter(rules.allowsModel), ceiling.authority.models);
  const asked = request.modelOverride;
  if (asked === undefined) return { model: first, fallbacks, allow };
  const isInPolicy = policy.includes(asked) && permitted(asked);
  const model = isInPolicy ? asked : first;
  receipt.push({
    field: "model",
    requested: asked,
    granted: model,
    ...(isInPolicy ? {} : { reason: `not in the model policy of "${profile.name}"` }),
  });
  // Who asks for one model in particular is not served by another in its place.
  return { model, fallbacks: isInPolicy ? [] : fallbacks, allow };
}

/**
 * Under a cap in dollars every model that may answer needs a known price: a request without one
 * costs nothing as far as the budget can tell, so no cap would stop it. A fallback without a price
 * is dropped; a model without a price is refused.
 */
export function requirePrices(
  { hasPrice }: Pick<Narrowing, "hasPrice">,
  models: NarrowedModels,
  cost: number | null,
  receipt: ReceiptLine[],
): NarrowedModels | Refused {
  if (cost === null) return models;
  if (!hasPrice(models.model)) {
    return { allowed: false, rule: "price", reason: unpriced(models.model, cost) };
  }
  const dropped = models.fallbacks.filter((name) => !hasPrice(name));
  if (dropped.length === 0) return models;
  const fallbacks = models.fallbacks.filter(hasPrice);
  const reason = dropped.map((name) => unpriced(name, cost)).join(" ");
  receipt.push({
    field: "fallbacks",
    requested: models.fallbacks,
    granted: fallbacks,
    dropped,
    reason,
  });
  return { ...models, fallbacks };
}

/** Why a model cannot be used under a cap in dollars, and the line of configuration that helps. */
export function unpriced(model: string, cost: number): string {
  const name = JSON.stringify(model);
  return (
    `The price of the model ${name} is not known, so the cost cap of $${cost} cannot hold it. Set its ` +
    `price in US dollars for a million tokens in your own configuration (~/.config/mandate/config.yaml): ` +
    `models: { prices: { ${name}: { input: 2.50, output: 10.00 } } }. ` +
    "For a model that costs nothing write { input: 0, output: 0 }. Or start without a cost cap; the token budget still holds."
  );
}
