import type { TokenRates } from "../contracts/token-price.ts";
import type { PriceConfig } from "./config.ts";

/** A price under which nothing costs less than under either of the two. */
export function dearerPrice(left: PriceConfig, right: PriceConfig): PriceConfig {
  const long = [left.longPrompt, right.longPrompt].filter((each) => each !== undefined);
  if (long.length === 0) return highest([left, right]);
  const over = Math.min(...long.map((each) => each.over));
  return {
    ...highest([left, right]),
    longPrompt: { over, ...highest([left, right, ...long]) },
  };
}

function highest(rates: readonly TokenRates[]): TokenRates {
  return {
    input: Math.max(...rates.map(({ input }) => input)),
    output: Math.max(...rates.map(({ output }) => output)),
    cachedInput: Math.max(...rates.map(({ input, cachedInput }) => cachedInput ?? input)),
    cacheWrite: Math.max(...rates.map(({ input, cacheWrite }) => cacheWrite ?? input)),
  };
}
