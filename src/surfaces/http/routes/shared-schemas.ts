import { z } from "zod";

/** JSON without a schema in the document; programs in TypeScript get its type. */
export function plainData<Value>(description: string): z.ZodType<Value> {
  return z.unknown().meta({ description }) as unknown as z.ZodType<Value>;
}

export function listOf<Item extends z.ZodType>(item: Item) {
  return z.array(item).readonly();
}

/** Milliseconds since 1970. */
export const moment = z.number().meta({ description: "Milliseconds since 1970." });

const hex = "[0-9a-f]{6}(?:[0-9a-f]{2})?";

/** The ids of the product; every other text is refused before it is looked up. */
export const runId = z.string().regex(new RegExp(`^r${hex}$`), "an id of a run, such as r3f2a10");
export const delegationId = z
  .string()
  .regex(new RegExp(`^${hex}$`), "an id of a delegation, such as 3f2a10");
export const askId = z.string().regex(new RegExp(`^q${hex}$`), "an id of a question: q3f2a10");
export const memoryId = z.string().regex(new RegExp(`^m${hex}$`), "an id of a memory: m3f2a10");

/** The id of a session is that of its delegation, or of its run. */
export const sessionId = z
  .string()
  .regex(new RegExp(`^r?${hex}$`), "an id of a delegation or a run");

export const agentId = z.string().regex(/^@[a-z0-9_-]{2,32}$/, "a handle, such as @writer");
export const profileName = z.string().regex(/^[^\p{C}\p{Z}/\\]{1,64}$/u, "the name of a profile");

/** A profile's name or a handle. */
export const whoever = z.string().regex(/^@?[^\p{C}\p{Z}/\\]{1,64}$/u, "a profile or a handle");

export const hash = z.string().regex(/^[0-9a-f]{64}$/, "a SHA-256 hash");

/** The client's own name for a conversation. */
export const sessionName = z
  .string()
  .regex(/^[^\p{C}\p{Zl}\p{Zp}]{1,200}$/u, "1 to 200 characters that can be seen");

/** A whole number in a query, which holds only text. */
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

/** The schema of a list of some of the given words, separated by commas. */
export function wordsOf<const Words extends readonly [string, ...string[]]>(words: Words) {
  const each = z.array(z.enum(words)).min(1).max(words.length);
  return z
    .string()
    .max(500)
    .transform((text) => text.split(","))
    .pipe(each as unknown as z.ZodType<readonly Words[number][], string[]>);
}

/** The longest time that a request can wait for the end of a run. */
export const longestWaitMs = 30_000;
