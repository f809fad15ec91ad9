import { billionths, billionthsFor, inDollars } from "../ports/dollars.ts";
import type { ModelUsage } from "../ports/model.ts";

/** US dollars for a million tokens. */
export interface TokenRates {
  readonly input: number;
  readonly output: number;
  /** Input that came from the provider's cache; absent: as any input. */
  readonly cachedInput?: number;
  /** Input that was written to the cache; absent: as any input. */
  readonly cacheWrite?: number;
}

export interface TokenPrice extends TokenRates {
  /** What a request with a longer prompt costs instead, all of it. */
  readonly longPrompt?: TokenRates & { readonly over: number };
}

/** In dollars, with nothing smaller than a billionth. */
export function costOf(price: TokenPrice, usage: ModelUsage): number {
  const { prompt, completion, cached = 0, cacheWrite = 0 } = usage;
  const { longPrompt } = price;
  const rates = longPrompt !== undefined && prompt > longPrompt.over ? longPrompt : price;
  const { cachedInput = rates.input, cacheWrite: written = rates.input, input, output } = rates;
  // Counts that contradict each other must not give money back.
  const fresh = Math.max(0, prompt - cached - cacheWrite);
  const whole =
    billionthsFor(fresh, input) +
    billionthsFor(cached, cachedInput) +
    billionthsFor(cacheWrite, written) +
    billionthsFor(completion, output);
  return inDollars(billionths(inDollars(whole)));
}

/**
 * The most that a token can cost in a request whose prompt has at most so many: it is not known before
 * how much of it comes from a cache, or goes into one.
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
