import { billionths, billionthsFor, inDollars } from "../ports/dollars.ts";
import type { ModelUsage } from "../ports/model.ts";

/** US dollars for a million tokens. */
export interface TokenRates {
  readonly input: number;
  readonly output: number;
  /** Input that came from the provider's cache; absent: the rate of `input`. */
  readonly cachedInput?: number;
  /** Input that was written to the cache; absent: the rate of `input`. */
  readonly cacheWrite?: number;
}

export interface TokenPrice extends TokenRates {
  /** The rates of a whole request whose prompt is longer than `over` tokens. */
  readonly longPrompt?: TokenRates & { readonly over: number };
}

/** The cost in dollars, rounded up to a billionth. */
export function costOf(price: TokenPrice, usage: ModelUsage): number {
  const { prompt, completion, cached = 0, cacheWrite = 0 } = usage;
  const { longPrompt } = price;
  const rates = longPrompt !== undefined && prompt > longPrompt.over ? longPrompt : price;
  const { cachedInput = rates.input, cacheWrite: written = rates.input, input, output } = rates;
  // Contradictory counts must not make a cost negative.
  const fresh = Math.max(0, prompt - cached - cacheWrite);
  const whole =
    billionthsFor(fresh, input) +
    billionthsFor(cached, cachedInput) +
    billionthsFor(cacheWrite, written) +
    billionthsFor(completion, output);
  return inDollars(billionths(inDollars(whole)));
}

/**
 * The highest rates of a request whose prompt has at most `prompt` tokens. How many of them come from a
 * cache, or are written to one, is not known before.
 */
export function dearestRates(
  { longPrompt, ...usual }: TokenPrice,
  prompt: number,
): Pick<TokenRates, "input" | "output"> {
  const possible = [usual, ...(longPrompt && prompt > longPrompt.over ? [longPrompt] : [])];
  return {
    input: Math.max(...possible.map(dearestInput)),
    output: Math.max(...possible.map(({ output }) => output)),
  };
}

function dearestInput({ cachedInput = 0, cacheWrite = 0, input }: TokenRates): number {
  return Math.max(input, cachedInput, cacheWrite);
}

export function isFree(price: TokenPrice): boolean {
  const { input, output } = dearestRates(price, Number.POSITIVE_INFINITY);
  return input === 0 && output === 0;
}
