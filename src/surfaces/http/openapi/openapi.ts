import { z } from "zod";
import { productVersion } from "../../../product-version.ts";
import type { Route } from "../route.ts";
import { describePageEndpoints, withStreams } from "./openapi-endpoints.ts";
import { type JsonSchema, SchemaShelf } from "./openapi-schemas.ts";

export interface OpenApiDocument {
  readonly openapi: "3.1.0";
  readonly info: Readonly<Record<string, unknown>>;
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly [key: string]: unknown;
}

/** The API as its routes say it: what is not in the table is neither served nor described. */
export function openApiOf(routes: readonly Route[]): OpenApiDocument {
  const shelf = new SchemaShelf();
  const problem = shelf.add("Problem", problemSchema, "output");
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of routes) {
    const path = `/api/v1${route.path.replace(/:(\w+)/g, "{$1}")}`;
    const operations = paths[path] ?? {};
    paths[path] = operations;
    operations[route.method.toLowerCase()] = operationOf(route, shelf, problem);
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Mandate",
      version: productVersion,
      description: "Delegate work to sub-agents under a contract that code enforces.",
    },
    security: [{ token: [] }],
    tags: [...new Set(routes.map(({ tag }) => tag))].map((name) => ({ name })),
    paths: withStreams({ ...paths, ...describePageEndpoints(shelf, problem) }, problem),
    components: {
      securitySchemes: { token: { type: "http", scheme: "bearer" } },
      schemas: shelf.schemas,
    },
  };
}

const problemSchema = z.object({
  type: z.string(),
  title: z.string(),
  status: z.int(),
  detail: z.string(),
  code: z.string().meta({ description: "For programs; `detail` is for people." }),
  errors: z.array(z.object({ field: z.string(), message: z.string() })).optional(),
  current: z
    .object({ version: z.number(), value: z.unknown() })
    .optional()
    .meta({ description: "Of a change that came too late: what the record is now." }),
  instance: z.string().optional(),
});

function operationOf(route: Route, shelf: SchemaShelf, problem: JsonSchema): JsonSchema {
  const name = `${route.id.charAt(0).toUpperCase()}${route.id.slice(1)}`;
  const status = route.status ?? (route.reply === null ? 204 : 200);
  return {
    operationId: route.id,
    summary: route.summary,
    description: `For the role "${route.role}" and those above it.`,
    tags: [route.tag],
    parameters: [
      ...pathParameters(route, shelf),
      ...shelf.properties(route.query).map(({ name: parameter, isRequired, schema }) => ({
        name: parameter,
        in: "query",
        required: isRequired,
        schema,
      })),
      ...(route.method === "POST" && route.keepsReply !== false ? [idempotencyKey] : []),
    ],
    ...(route.body && {
      requestBody: {
        required: shelf.properties(route.body).some(({ isRequired }) => isRequired),
        content: json(shelf.add(`${name}Body`, route.body, "input")),
      },
    }),
    responses: {
      [status]: {
        description: "It was done.",
        ...(route.reply && { content: json(shelf.add(`${name}Reply`, route.reply, "output")) }),
      },
      default: {
        description: "It was not; the problem says why.",
        content: { "application/problem+json": { schema: problem } },
      },
    },
  };
}

const idempotencyKey = {
  name: "Idempotency-Key",
  in: "header",
  required: false,
  description: "Sent again with the same key, a request is done once and answered alike for a day.",
  schema: { type: "string", minLength: 1, maxLength: 255 },
};

function pathParameters(route: Route, shelf: SchemaShelf): readonly JsonSchema[] {
  const declared = new Map(shelf.properties(route.params).map((one) => [one.name, one.schema]));
  return [...route.path.matchAll(/:(\w+)/g)].map(([, name = ""]) => ({
    name,
    in: "path",
    required: true,
    schema: declared.get(name) ?? { type: "string" },
  }));
}

function json(schema: JsonSchema): JsonSchema {
  return { "application/json": { schema } };
}
