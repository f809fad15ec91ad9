import { streams } from "../mount-points.ts";
import { pageCodePath } from "../page/page-code-endpoint.ts";
import { pageSessionBody, pageSessionPath } from "../page/page-session-endpoint.ts";
import type { JsonSchema, SchemaShelf } from "./openapi-schemas.ts";

type Operations = Readonly<Record<string, unknown>>;
type Paths = Readonly<Record<string, Operations>>;

/** What a list of events is to those who would rather have them as they come. */
export function withStreams(paths: Paths, problem: JsonSchema): Paths {
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
  description: "Of a stream: it begins after this event, with what has happened since.",
  schema: { type: "string" },
};

function failureOf(problem: JsonSchema): JsonSchema {
  return {
    default: {
      description: "It was not done; the problem says why.",
      content: { "application/problem+json": { schema: problem } },
    },
  };
}

/** How a page gets in. */
export function describePageEndpoints(shelf: SchemaShelf, problem: JsonSchema): Paths {
  const failure = failureOf(problem);
  const body = shelf.add("BeginPageSessionBody", pageSessionBody, "input");
  return {
    [pageCodePath]: {
      post: {
        operationId: "createPageCode",
        summary: "An address that opens the page in a browser, once, within a minute",
        tags: ["pages"],
        responses: {
          201: {
            description: "It was made.",
            content: { "application/json": { schema: pageCode } },
          },
          ...failure,
        },
      },
    },
    [pageSessionPath]: {
      post: {
        operationId: "beginPageSession",
        summary: "Exchanges the code of a page for its session, as a cookie",
        tags: ["pages"],
        security: [],
        requestBody: { required: true, content: { "application/json": { schema: body } } },
        responses: { 204: { description: "The session has begun." }, ...failure },
      },
      delete: {
        operationId: "endPageSession",
        summary: "Ends the session of a page",
        tags: ["pages"],
        security: [],
        responses: { 204: { description: "There is none any more." }, ...failure },
      },
    },
  };
}

const pageCode: JsonSchema = {
  type: "object",
  properties: {
    code: { type: "string" },
    url: { type: "string" },
    validForMs: { type: "integer" },
  },
  required: ["code", "url", "validForMs"],
  additionalProperties: false,
};
