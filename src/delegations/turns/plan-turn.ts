/** What the next model turn may cost, decided before anything is sent. Pure. */
export type TurnPlan =
  /** A turn with its tools, and enough left for a last one after it. */
  | { readonly kind: "turn"; readonly reserve: number; readonly maxOutput: number }
  /** The last one: tools are withdrawn, the best result is asked for. */
  | { readonly kind: "last"; readonly reserve: number; readonly maxOutput: number }
  /** Others hold reservations that will shrink: worth waiting. */
  | { readonly kind: "wait" }
  /** Not even a last turn fits. */
  | { readonly kind: "exhausted" };

export interface TurnBounds {
  /** No prompt can be more tokens than this. */
  readonly prompt: number;
  readonly maxOutput: number;
  /** Free now, after everybody's reservations. */
  readonly available: number;
  /** Free if all that is under way were to cost nothing. */
  readonly unspent: number;
  /** The contract's reserve for a last turn. */
  readonly keepBack: number;
}

const leastOutput = 64;

export function planTurn(bounds: TurnBounds): TurnPlan {
  const now = planWith(bounds, bounds.available);
  if (now.kind === "turn") return now;
  const later = planWith(bounds, bounds.unspent);
  return later.kind === now.kind ? now : { kind: "wait" };
}

function planWith(bounds: TurnBounds, left: number): TurnPlan {
  const { prompt, maxOutput, keepBack } = bounds;
  // After this turn a last one must still fit: its prompt is at least this one's.
  const forThisTurn = left - (prompt + keepBack);
  const output = Math.min(maxOutput, forThisTurn - prompt);
  if (output >= Math.min(maxOutput, leastOutput * 4)) {
    return { kind: "turn", reserve: prompt + output, maxOutput: output };
  }
  const last = Math.min(maxOutput, left - prompt);
  if (left >= leastForAnswer(bounds)) {
    return { kind: "last", reserve: prompt + last, maxOutput: last };
  }
  return { kind: "exhausted" };
}

/** With less than this, not even a last turn fits. */
export function leastForAnswer({
  maxOutput,
  prompt,
}: Pick<TurnBounds, "maxOutput" | "prompt">): number {
  return prompt + Math.min(maxOutput, leastOutput);
}

/**
 * How many bytes of an output may enter the conversation so that an ordinary turn still fits after
 * it. Each may turn out to be a token: a file of which all was shown would be the end of a small
 * budget, and one of which the beginning was shown can be read on.
 */
export function roomForOutput({
  available,
  keepBack,
  prompt,
}: Pick<TurnBounds, "available" | "keepBack" | "prompt">): number {
  const forPrompt = (available - keepBack - leastOutput * 4) / 2 - slack;
  return Math.max(leastShown, Math.floor(forPrompt - prompt - frame));
}

/** What stands around an output in the conversation: whose it is, and that it was cut. */
const frame = 512;
/** Less than this says nothing, and a budget that has no room for it is at its end anyway. */
const leastShown = 2000;

/**
 * The most tokens the next prompt can be: what the provider counted last time plus a token for
 * every byte added since; before the first count, a token for every byte of everything.
 */
export function promptBound(parts: {
  readonly counted: number | null;
  readonly bytesSince: number;
  readonly systemBytes: number;
  readonly toolTokens: number;
}): number {
  if (parts.counted !== null) return parts.counted + parts.bytesSince + slack;
  return parts.systemBytes + parts.toolTokens + parts.bytesSince + hiddenPrompt;
}

const slack = 32;
/** What providers add of their own when tools are offered. */
const hiddenPrompt = 512;
