/**
 * How many cases a test of a property tries: `many` in `npm run fuzz`, which sets
 * MANDATE_CASES=many, and otherwise a few.
 */
export function cases(many: number, few = Math.min(many, Math.max(20, many / 20))): number {
  return process.env["MANDATE_CASES"] === "many" ? many : Math.ceil(few);
}
