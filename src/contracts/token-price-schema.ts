import { z } from "zod";

/** A dollar for a token is no price; far above that, sums would not be numbers any more. */
const rate = z.number().nonnegative().max(1_000_000);
const rates = {
  input: rate,
  output: rate,
  cachedInput: rate.optional(),
  cacheWrite: rate.optional(),
};

/** A price, as people configure it and as contracts keep it. */
export const tokenPriceSchema = z.strictObject({
  ...rates,
  longPrompt: z.strictObject({ over: z.int().positive(), ...rates }).optional(),
});
