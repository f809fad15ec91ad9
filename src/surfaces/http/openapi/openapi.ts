import { z } from "zod";
import { productVersion } from "../../../product-version.ts";
import { streams } from "../mount.ts";
import { pageCodePath, pageSessionBody, pageSessionPath } from "../page/page-endpoints.ts";
import type { Route } from "../route.ts";
import { type JsonSchema, SchemaShelf } from "./openapi-schemas.ts";

export interface OpenApiDocument {
  readonly openapi: "3.1.0";
  readonly info: Readonly<Record<string, unknown>>;
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly [key: string]: unknown;
}

/**
 * The OpenAPI document of a route table: what is not in the table is neither served nor described.
 */
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
    .meta({ description: "The current record, when a write expected an older version." }),
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
        description: "Success.",
        ...(route.reply && { content: json(shelf.add(`${name}Reply`, route.reply, "output")) }),
      },
      default: {
        description: "Failure; the problem says why.",
        content: { "application/problem+json": { schema: problem } },
      },
    },
  };
}

const idempotencyKey = {
  name: "Idempotency-Key",
  in: "header",
  required: false,
  description:
    "A request that is repeated with the same key within a day is performed once and gets the same reply.",
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

type Operations = Readonly<Record<string, unknown>>;
type Paths = Readonly<Record<string, Operations>>;

/** Adds the event streams: to the lists that share their path, or as operations of their own. */
function withStreams(paths: Paths, problem: JsonSchema): Paths {
  const all: Record<string, Operations> = { ...paths };
  for (const { path, summary } of streams) {
    const key = `/api/v1${path.replace(/:(\w+)/g, "{$1}")}`;
    const listing = all[key]?.["get"] as ListOperation | undefined;
    all[key] = { ...all[key], get: listing ? alsoStreamed(listing) : streamOf(path, summary) };
  }
  return all;

  function streamOf(path: string, summary: string): JsonSchema {
    const words = path.split("/").filter((word) => word !== "" && !word.startsWith(":"));
    const names = words.map((word) => word.charAt(0).toUpperCase() + word.slice(1));
    return {
      operationId: `follow${names.join("")}`,
      summary,
      tags: ["events"],
      parameters: [
        ...[...path.matchAll(/:(\w+)/g)].map(([, name]) => ({
          name,
          in: "path",
          required: true,
          schema: { type: "string" },
        })),
        lastEventId,
      ],
      responses: { 200: { description: "Events.", content: eventStream }, ...failureOf(problem) },
    };
  }
}

interface ListOperation {
  readonly parameters: readonly JsonSchema[];
  readonly responses: Readonly<Record<string, { readonly content: JsonSchema }>>;
  readonly [key: string]: unknown;
}

function alsoStreamed(operation: ListOperation): JsonSchema {
  const { parameters, responses } = operation;
  const found = responses["200"];
  return {
    ...operation,
    parameters: [...parameters, lastEventId],
    responses: { ...responses, 200: { ...found, content: { ...found?.content, ...eventStream } } },
  };
}

const eventStream = { "text/event-stream": { schema: { type: "string" } } };

const lastEventId = {
  name: "Last-Event-ID",
  in: "header",
  required: false,
  description: "For streams: begin after the event with this id.",
  schema: { type: "string" },
};

function failureOf(problem: JsonSchema): JsonSchema {
  return {
    default: {
      description: "Failure; the problem says why.",
      content: { "application/problem+json": { schema: problem } },
    },
  };
}

/** The operations by which the dashboard signs in. */
function describePageEndpoints(shelf: SchemaShelf, problem: JsonSchema): Paths {
  const failure = failureOf(problem);
  const body = shelf.add("BeginPageSessionBody", pageSessionBody, "input");
  return {
    [pageCodePath]: {
      post: {
        operationId: "createPageCode",
        summary:
          "Creates an address that opens the dashboard: on this machine until the server ends, elsewhere once",
        tags: ["pages"],
        responses: {
          201: {
            description: "The address.",
            content: { "application/json": { schema: pageCode } },
          },
          ...failure,
        },
      },
    },
    [pageSessionPath]: {
      get: {
        operationId: "readPageSession",
        summary: "Shows how to get a new link to the dashboard",
        tags: ["pages"],
        security: [],
        responses: {
          200: {
            description: "The command that prints a link.",
            content: { "application/json": { schema: objectOf({ next: { type: "string" } }) } },
          },
          ...failure,
        },
      },
      post: {
        operationId: "beginPageSession",
        summary: "Exchanges a sign-in code or a token for a page session, as a cookie",
        tags: ["pages"],
        security: [],
        requestBody: { required: true, content: { "application/json": { schema: body } } },
        responses: {
          200: {
            description: "The session has begun; `path` is the page to begin with.",
            content: { "application/json": { schema: objectOf({ path: { type: "string" } }) } },
          },
          ...failure,
        },
      },
      delete: {
        operationId: "endPageSession",
        summary: "Ends a page session",
        tags: ["pages"],
        security: [],
        responses: { 204: { description: "The session has ended." }, ...failure },
      },
    },
  };
}

const pageCode = objectOf({
  code: { type: "string" },
  url: { type: "string" },
  // Null: until the server ends, for browsers on this machine.
  validForMs: { type: ["integer", "null"] },
  // The code that a person types on the page.
  shortCode: objectOf({ code: { type: "string" }, validForMs: { type: "integer" } }),
});

function objectOf(properties: Readonly<Record<string, JsonSchema>>): JsonSchema {
  return {
    type: "object",
    properties,
    required: Object.keys(properties),
    additionalProperties: false,
  };
}
