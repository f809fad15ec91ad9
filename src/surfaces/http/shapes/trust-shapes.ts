import { z } from "zod";
import { listOf, plainData } from "./plain-data.ts";

export const waitingRow = z.object({
  kind: z.enum(["configuration", "profile", "skill"]),
  name: z.string(),
  file: z.string(),
  hash: z.string(),
  isChanged: z
    .literal(true)
    .optional()
    .meta({ description: "Earlier content of the same place was trusted." }),
});

export const waitingDetail = waitingRow.extend({
  fields: listOf(
    z.object({ field: z.string(), value: plainData<unknown>("As it was written.") }),
  ).meta({ description: "Of a profile." }),
  prompt: z.string(),
  files: listOf(
    z.object({ path: z.string(), bytes: z.number(), text: z.string().nullable() }),
  ).meta({ description: "Of a skill; null: it is not text, or too long to be sent." }),
});

export const trustedList = z.object({
  items: listOf(z.object({ hash: z.string(), name: z.string(), file: z.string() })),
});
