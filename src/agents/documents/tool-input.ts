import { z } from "zod";
import { isRecord } from "../../ports/parse-json.ts";
import { describeIssues } from "./describe-problem.ts";
import { withoutEmpty } from "./without-empty.ts";

/** The parameters of a tool. */
interface Parameters<Input> {
  readonly input: z.ZodType<Input>;
  readonly aliases?: Aliases | undefined;
}

type Aliases = Readonly<Record<string, string>>;

/** The input of a call by the tool's schema, or what is wrong with it. */
export function readInput<Input>(
  { aliases, input: schema }: Parameters<Input>,
  given: unknown,
): { readonly input: Input } | { readonly problem: string } {
  const named = withParameterNames(schema, aliases, given);
  const parsed = schema.safeParse(withoutEmpty(schema, named));
  if (parsed.success) return { input: parsed.data };
  return { problem: describeIssues(parsed.error, schema, "parameter") };
}

/**
 * Renames parameters that are given by an alias, or spelt in another case: `maxWaitMs` is
 * `max_wait_ms`. A parameter that is given twice keeps its unknown name, which the schema refuses:
 * of two limits none is dropped in silence.
 */
export function withParameterNames(
  schema: z.ZodType,
  aliases: Aliases | undefined,
  given: unknown,
): unknown {
  if (!(schema instanceof z.ZodObject) || !isRecord(given)) return given;
  const names = Object.keys(schema.shape);
  const known = new Set(names);
  const keys = Object.keys(given);
  if (keys.every((key) => known.has(key))) return given;
  const spelt = new Map(names.map((name) => [plain(name), name]));
  for (const [alias, name] of Object.entries(aliases ?? {})) spelt.set(plain(alias), name);
  const taken = new Set(keys.filter((key) => known.has(key)));
  const renamed = Object.entries(given).map(([key, value]): [string, unknown] => {
    const name = known.has(key) ? undefined : spelt.get(plain(key));
    if (name === undefined || taken.has(name)) return [key, value];
    taken.add(name);
    return [name, value];
  });
  return Object.fromEntries(renamed);
}

function plain(key: string): string {
  return key.slice(0, 100).replaceAll(/[-_]/g, "").toLowerCase();
}

/**
 * The schema that models and clients are shown. A type among the metadata replaces alternatives. The
 * bounds of safe integers say nothing about a parameter, and neither does an empty schema for
 * unknown fields.
 */
export function shownSchema(
  schema: z.ZodType,
  io: "input" | "output",
): Readonly<Record<string, unknown>> {
  const { $schema, ...shown } = z.toJSONSchema(schema, {
    io,
    override({ jsonSchema: made }) {
      if (made.maximum === Number.MAX_SAFE_INTEGER) delete made.maximum;
      if (made.minimum === Number.MIN_SAFE_INTEGER) delete made.minimum;
      if (made.type !== undefined) delete made.anyOf;
      const { additionalProperties: more } = made;
      if (isRecord(more) && Object.keys(more).length === 0) delete made.additionalProperties;
    },
  });
  return shown;
}

const names = z.union([z.string(), z.array(z.string())]);

/** Names in one text, with commas; a list is accepted as well. */
export const commaList = names.meta({ type: "string" });

/** A list of names; one text with commas is accepted as well. */
export const nameList = names.meta({ type: "array", items: { type: "string" } });

/** @example namesIn("a, b") // ["a", "b"] */
export function namesIn(given: unknown): readonly string[] {
  const names = typeof given === "string" ? given.split(",") : Array.isArray(given) ? given : [];
  return names.map((name) => String(name).trim()).filter((name) => name !== "");
}
