/**
 * Money is compared in whole billionths of a dollar: a sum of fractions depends on the order of its
 * parts, so that two processes, or a run and its replay, could disagree.
 */
export function billionths(dollars: number): number {
  const exact = dollars * 1e9;
  return Math.ceil(exact - noiseOf(exact));
}

/** A cap in billionths, rounded down. */
export function wholeBillionths(dollars: number): number {
  const exact = dollars * 1e9;
  return Math.floor(exact + noiseOf(exact));
}

export function inDollars(billion: number): number {
  return billion / 1e9;
}

/** The cost of tokens in billionths, by the price of a million. */
export function billionthsFor(tokens: number, rate: number): number {
  return tokens * rate * 1000;
}

/** More than the rounding error of such products, and far less than any price. */
function noiseOf(amount: number): number {
  return Number.isFinite(amount) ? 1e-3 + Math.abs(amount) * 1e-15 : 0;
}
