// Writes docs/reference/http.md from the OpenAPI document, which is made from the routes themselves.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { openApiOf } from "../src/surfaces/http/openapi/openapi.ts";
import { routes } from "../src/surfaces/http/routes/all-routes.ts";

interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly tags: readonly string[];
  readonly parameters?: readonly { readonly name: string; readonly in: string }[];
  readonly requestBody?: {
    readonly content: Readonly<Record<string, { readonly schema: Schema }>>;
  };
}

interface Schema {
  readonly $ref?: string;
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly required?: readonly string[];
  readonly anyOf?: readonly Schema[];
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

export const referenceFile = join(import.meta.dirname, "..", "docs", "reference", "http.md");

/** One table for each noun; the schemas themselves are in the document that the server serves. */
export function httpReference(): string {
  const document = openApiOf(routes) as unknown as Document;
  const rows = new Map<string, string[]>();
  for (const [path, operations] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(operations)) {
      const [tag = "other"] = operation.tags;
      rows.set(tag, [...(rows.get(tag) ?? []), rowOf(method, path, operation, document)]);
    }
  }
  const sections = [...rows].map(([tag, lines]) =>
    [`## ${tag}`, "", "| operation | role | takes | |", "|---|---|---|---|", ...lines].join("\n"),
  );
  return [head, ...sections, ""].join("\n\n").replace(/\n+$/, "\n");
}

const head = `# The HTTP API

Made from the routes by \`node scripts/http-reference.ts\`. How to use it is in [the guide](../guides/server.md);
whole schemas are in \`/api/v1/openapi.json\`. \`*\` is required. The name in brackets is the method of
\`MandateClient\`.`;

function rowOf(method: string, path: string, operation: Operation, document: Document): string {
  const query = (operation.parameters ?? []).filter((one) => one.in === "query");
  const schema = operation.requestBody?.content["application/json"]?.schema;
  const takes = [
    ...query.map(({ name }) => `?${name}`),
    ...(schema ? fieldsOf(schema, document) : []),
  ];
  const [, role = ""] = /role "(\w+)"/.exec(operation.description ?? "") ?? [];
  const cells = [
    `\`${method.toUpperCase()} ${path.replace("/api/v1", "")}\` (${operation.operationId})`,
    role,
    takes.map((name) => `\`${name}\``).join(" "),
    operation.summary,
  ];
  return `| ${cells.join(" | ")} |`;
}

function fieldsOf(schema: Schema, document: Document): readonly string[] {
  const name = schema.$ref?.split("/").at(-1);
  const whole = name === undefined ? schema : (document.components.schemas[name] ?? {});
  if (whole.anyOf) return [...new Set(whole.anyOf.flatMap((one) => fieldsOf(one, document)))];
  const required = new Set(whole.required);
  return Object.keys(whole.properties ?? {}).map((key) => (required.has(key) ? `${key}*` : key));
}

if (process.argv[1] === import.meta.filename) writeFileSync(referenceFile, httpReference());
