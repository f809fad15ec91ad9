import { z } from "zod";

/** JSON whose form is described elsewhere; to programs in TypeScript it has its type all the same. */
export function plainData<Value>(description: string): z.ZodType<Value> {
  return z.unknown().meta({ description }) as unknown as z.ZodType<Value>;
}

export function listOf<Item extends z.ZodType>(item: Item) {
  return z.array(item).readonly();
}

/** Milliseconds since 1970. */
export const moment = z.number().meta({ description: "Milliseconds since 1970." });
