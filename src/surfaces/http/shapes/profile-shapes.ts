import { z } from "zod";
import { listOf, plainData } from "./plain-data.ts";
import { waitingRow } from "./trust-shapes.ts";

const profileRow = z.object({
  name: z.string(),
  description: z.string(),
  capabilities: listOf(z.string()),
  model: z.string().nullable(),
  origin: z.string(),
  isHidden: z.boolean(),
});

export const profileList = z.object({
  items: listOf(profileRow),
  problems: listOf(z.object({ name: z.string(), file: z.string(), message: z.string() })),
  waiting: listOf(waitingRow).meta({
    description: "What came with a project and has no effect until an operator trusts it.",
  }),
});

const fields = listOf(
  z.object({
    field: z.string().meta({ description: "A dotted path." }),
    value: plainData<unknown>("What it says."),
    origin: z.string().meta({ description: "Where that came from." }),
  }),
);

const prompt = z.string().nullable().meta({ description: "Null for viewers." });

export const profileDetail = z.object({
  name: z.string(),
  usable: z.boolean(),
  problem: z.string().nullable(),
  fields,
  prompt,
  layers: listOf(z.string()),
  cut: listOf(z.object({ field: z.string(), origin: z.string() })).meta({
    description: "What a project's layers ask for and do not get: they only narrow.",
  }),
  waiting: listOf(z.object({ origin: z.string(), hash: z.string(), fields, prompt })),
});
