import { z } from "zod";
import { profileSchema } from "../agents/profiles/profile-schema.ts";
import { configSchema } from "./config-schema.ts";

/** JSON Schemas of the files that people write, for their editors. By file name. */
export function publishedSchemas(): Readonly<Record<string, object>> {
  return {
    "mandate.schema.json": schemaOf(configSchema, "Mandate's configuration: mandate.yaml"),
    "profile.schema.json": schemaOf(
      profileSchema,
      "A Mandate profile: its front matter, or all of it",
    ),
  };
}

/** What may be written, not what it becomes: a single model where a list is kept. */
function schemaOf(schema: z.ZodType, title: string): object {
  return { ...z.toJSONSchema(schema, { io: "input", reused: "ref" }), title };
}
