import { z } from "zod";

const rate = z.number().nonnegative();
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
