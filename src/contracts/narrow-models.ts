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
