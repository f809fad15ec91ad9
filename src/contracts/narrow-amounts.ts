import type { Narrowing, Refused } from "./narrow.ts";
import type { ReceiptLine } from "./receipt.ts";

/** Levels that may follow below the child. */
export function narrowDepth(
  { ceiling, profile, request, rules, mayNest }: Narrowing,
  receipt: ReceiptLine[],
): number {
  const allowed = Math.max(
    0,
    Math.min(rules.maxDepth, ceiling.depth - 1, profile.depth ?? rules.maxDepth),
  );
  const asked = request.depth;
  // Whatever is no whole number of levels grants the levels that are whole, or none.
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
        ? { reason: "limited by the profile, the configuration, or what the callers have left" }
        : {}),
    });
  }
  // Asked this way round, what is not a number at all is refused too.
  if (!(granted > 0)) {
    const reason =
      limit >= 1 ? `${wanted} tokens are not enough to do anything with.` : nothingLeft(ceiling);
    return { allowed: false, rule: "budget", reason };
  }
  return granted;
}

function nothingLeft({ kept = 0, tokens }: Narrowing["ceiling"]): string {
  if (kept === 0) return "The callers above have no tokens left to hand on.";
  return `All of the ${tokens + kept} tokens that the caller has left are kept to read results and answer. Delegate less at once.`;
}

/** In dollars; null: no limit is set. */
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
      ? { reason: "limited by the profile, or by what the callers may cost" }
      : {}),
  });
  // Asked this way round, what is not a number at all is refused too.
  if (granted > 0) return granted;
  return { allowed: false, rule: "budget", reason: `For $${asked} nothing can be done.` };
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
      ...(granted < wanted ? { reason: "limited by the time that the caller has left" } : {}),
    });
  }
  if (!(granted > 0)) {
    return { allowed: false, rule: "time", reason: "The caller has no time left to hand on." };
  }
  return granted;
}
