import type { Narrowing, Refused } from "./narrow.ts";
import type { ReceiptLine } from "./receipt.ts";
import { includes, intersect, type Selection } from "./selection.ts";

export interface NarrowedModels {
  readonly model: string;
  /** Tried in order when the model is unavailable. */
  readonly fallbacks: readonly string[];
  readonly allow: Selection;
}

/**
 * The child's models: those of its profile, in that order, as far as the caller may delegate them. An
 * override selects one of the models that the profile allows; any other override is clamped.
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
      reason: `"${profile.name}" runs on ${choices.join(" or ")}, which its caller may not delegate or the operator does not allow.`,
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
  // A request for one particular model gets no fallbacks.
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

/** The levels of delegation below the child. */
export function narrowDepth(
  { ceiling, profile, request, rules, mayNest }: Narrowing,
  receipt: ReceiptLine[],
): number {
  const allowed = Math.max(
    0,
    Math.min(rules.maxDepth, ceiling.depth - 1, profile.depth ?? rules.maxDepth),
  );
  const asked = request.depth;
  // Anything but a whole number is rounded down; NaN grants none.
  const granted = mayNest ? Math.floor(Math.max(0, Math.min(allowed, asked ?? allowed))) || 0 : 0;
  if (asked !== undefined) {
    receipt.push({
      field: "depth",
      requested: asked,
      granted,
      ...(granted < asked ? { reason: "limited by the caller's own depth" } : {}),
    });
  }
  return granted;
}

export function narrowTokens(
  { ceiling, profile, request, rules }: Narrowing,
  receipt: ReceiptLine[],
): number | Refused {
  const wanted = request.tokens ?? profile.tokens ?? rules.defaultTokens;
  const limit = Math.min(rules.maxTokens, profile.tokens ?? rules.maxTokens, ceiling.tokens);
  const granted = Math.floor(Math.min(wanted, limit));
  if (granted < wanted || request.tokens !== undefined) {
    receipt.push({
      field: "tokens",
      requested: wanted,
      granted,
      ...(granted < wanted
        ? {
            reason:
              "limited by the profile, the configuration, or the remaining budget of its ancestors",
          }
        : {}),
    });
  }
  // NaN is refused as well.
  if (!(granted > 0)) {
    const reason =
      limit >= 1 ? `${wanted} tokens are too few for a single request.` : nothingLeft(ceiling);
    return { allowed: false, rule: "budget", reason };
  }
  return granted;
}

function nothingLeft({ kept = 0, tokens }: Narrowing["ceiling"]): string {
  if (kept === 0) return "The caller and its ancestors have no tokens left to delegate.";
  return `All of the ${tokens + kept} tokens that the caller has left are kept to read results and answer. Delegate less at once.`;
}

/** The cost cap in dollars; null: none. */
export function narrowCost(
  { ceiling, profile, request }: Narrowing,
  receipt: ReceiptLine[],
): number | null | Refused {
  const { cost: asked } = request;
  const limits = [ceiling.cost, profile.cost, asked].filter((limit) => limit != null);
  if (asked === undefined) return limits.length === 0 ? null : Math.min(...limits);
  const granted = Math.min(...limits);
  receipt.push({
    field: "cost",
    requested: asked,
    granted,
    ...(granted < asked
      ? { reason: "limited by the profile, or by the remaining cost cap of its ancestors" }
      : {}),
  });
  // NaN is refused as well.
  if (granted > 0) return granted;
  return { allowed: false, rule: "budget", reason: `A cost cap of $${asked} allows no request.` };
}

export function narrowTime(
  { ceiling, profile, request, rules }: Narrowing,
  receipt: ReceiptLine[],
): number | Refused {
  const asked = request.timeMs;
  const wanted = asked ?? profile.timeMs ?? rules.defaultTimeMs;
  const granted = Math.floor(Math.min(wanted, ceiling.timeMs, profile.timeMs ?? wanted));
  if (granted < wanted || asked !== undefined) {
    receipt.push({
      field: "timeout",
      requested: wanted,
      granted,
      ...(granted < wanted ? { reason: "limited by the remaining time of its caller" } : {}),
    });
  }
  if (!(granted > 0)) {
    return { allowed: false, rule: "time", reason: "The caller has no time left to delegate." };
  }
  return granted;
}
