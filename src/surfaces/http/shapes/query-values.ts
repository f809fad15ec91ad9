import { z } from "zod";

/** A query holds texts: these read them as what they are, and refuse what is merely like it. */
export function countIn(least: number, most: number) {
  return z
    .string()
    .regex(/^[0-9]{1,16}$/, `a whole number from ${least} to ${most}`)
    .transform(Number)
    .pipe(z.number().int().min(least).max(most));
}

export const flag = z
  .enum(["true", "false"])
  .transform((text) => text === "true")
  .pipe(z.boolean());

/** Several of these words, with commas between them. */
export function wordsOf<const Words extends readonly [string, ...string[]]>(words: Words) {
  const each = z.array(z.enum(words)).min(1).max(words.length);
  return z
    .string()
    .max(500)
    .transform((text) => text.split(","))
    .pipe(each as unknown as z.ZodType<readonly Words[number][], string[]>);
}

/** The longest that a request may wait for something to end. */
export const longestWaitMs = 30_000;
