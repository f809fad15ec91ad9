/**
 * Amounts of money are decided upon in whole billionths of a dollar: a sum of fractions depends on
 * the order of its parts, and neither two processes nor a replay would come to the same.
 */
export function billionths(dollars: number): number {
  const exact = dollars * 1e9;
  return Math.ceil(exact - noiseOf(exact));
}

/** Of a cap: never more than it says. */
export function wholeBillionths(dollars: number): number {
  const exact = dollars * 1e9;
  return Math.floor(exact + noiseOf(exact));
}

export function inDollars(billion: number): number {
  return billion / 1e9;
}

/** What so many tokens cost, at a price for a million of them. */
export function billionthsFor(tokens: number, rate: number): number {
  return tokens * rate * 1000;
}

/** Above what products of such numbers are wrong by, and far below what anybody pays. */
function noiseOf(amount: number): number {
  return Number.isFinite(amount) ? 1e-3 + Math.abs(amount) * 1e-15 : 0;
}
