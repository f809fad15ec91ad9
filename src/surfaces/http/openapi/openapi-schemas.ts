import { z } from "zod";

export type JsonSchema = Readonly<Record<string, unknown>>;

/** Collects the schemas of a document, each once: named ones go to `components`. */
export class SchemaShelf {
  readonly #schemas: Record<string, JsonSchema> = Object.create(null);
  readonly #texts = new Map<string, string>();

  get schemas(): Readonly<Record<string, JsonSchema>> {
    return this.#schemas;
  }

  /** Adds a named schema and returns a reference to it. */
  add(name: string, schema: z.ZodType, io: "input" | "output"): JsonSchema {
    const inlined = this.inline(schema, io);
    const { $ref: reference, ...rest } = inlined;
    if (typeof reference === "string" && Object.keys(rest).length === 0) return inlined;
    return refer(this.#keep(name, inlined));
  }

  /** Returns the schema itself; named parts of it are added and referenced. */
  inline(schema: z.ZodType, io: "input" | "output"): JsonSchema {
    const made: unknown = z.toJSONSchema(schema, { io, unrepresentable: "any" });
    const { $schema: _, $defs = {}, ...rest } = made as JsonSchema & { $defs?: JsonSchema };
    const names = new Map<string, string>();
    for (const name of Object.keys($defs)) names.set(name, this.#freeName(name, $defs[name]));
    for (const [name, definition] of Object.entries($defs)) {
      this.#put(names.get(name) ?? name, redirect(definition, names) as JsonSchema, definition);
    }
    return redirect(rest, names) as JsonSchema;
  }

  /** The fields of an object schema, with their output types. */
  properties(
    schema: z.ZodType | undefined,
  ): readonly { name: string; isRequired: boolean; schema: JsonSchema }[] {
    if (!(schema instanceof z.ZodObject)) return [];
    return Object.entries(schema.shape as Readonly<Record<string, z.ZodType>>).map(
      ([name, field]) => ({
        name,
        isRequired: !field.safeParse(undefined).success,
        schema: this.inline(field, "output"),
      }),
    );
  }

  /** Equal schemas share one name; different schemas with the same name get a number. */
  #keep(name: string, schema: JsonSchema): string {
    const text = JSON.stringify(schema);
    const known = this.#texts.get(text);
    if (known !== undefined) return known;
    const free = this.#freeName(name, schema);
    this.#put(free, schema, schema);
    this.#texts.set(text, free);
    return free;
  }

  readonly #sources = new Map<string, string>();

  #freeName(wanted: string, source: unknown): string {
    const base = wanted.startsWith("__") ? `Part${wanted.replace(/\W|_/g, "")}` : wanted;
    const text = JSON.stringify(source);
    for (let number = 1; ; number++) {
      const name = number === 1 ? base : `${base}${number}`;
      const taken = this.#sources.get(name);
      if (taken === undefined || taken === text) return name;
    }
  }

  #put(name: string, schema: JsonSchema, source: unknown): void {
    this.#sources.set(name, JSON.stringify(source));
    this.#schemas[name] = schema;
  }
}

function refer(name: string): JsonSchema {
  return { $ref: `#/components/schemas/${name}` };
}

const definitions = "#/$defs/";

/** Replaces every local reference by one to `components`. */
function redirect(value: unknown, names: ReadonlyMap<string, string>): unknown {
  if (Array.isArray(value)) return value.map((item) => redirect(item, names));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => {
      if (key !== "$ref" || typeof item !== "string" || !item.startsWith(definitions)) {
        return [key, redirect(item, names)];
      }
      const name = item.slice(definitions.length);
      return [key, refer(names.get(name) ?? name)["$ref"]];
    }),
  );
}
