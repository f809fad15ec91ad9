/** The most that a million tokens of a model can cost, in dollars, however they are billed. */
export interface TokenPrice {
  readonly input: number;
  readonly output: number;
  /** The same for a request whose prompt has more tokens than `over`. */
  readonly long?: { readonly over: number; readonly input: number; readonly output: number };
}

/** What one token can cost in a request whose prompt has at most so many. */
export interface TokenRates {
  readonly input: number;
  readonly output: number;
}

export function ratesFor({ input, long, output }: TokenPrice, prompt: number): TokenRates {
  if (long === undefined || prompt <= long.over) return { input, output };
  return { input: Math.max(input, long.input), output: Math.max(output, long.output) };
}

/**
 * Sums of dollars depend on their order in the last digits; what is decided by them must not, or a
 * replay would decide otherwise. A billionth of a dollar is as far as anybody looks.
 */
export function billionths(dollars: number): number {
  return Math.round(dollars * 1e9);
}

/** A token at so many dollars a million, in billionths of a dollar. */
export const perToken = 1000;
