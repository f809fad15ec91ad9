import { z } from "zod";
import { withoutEmpty } from "../../agents/documents/without-empty.ts";
import { seenBy } from "../../control/access/store-seen-by.ts";
import { holdsRole, type Principal, seesAllRuns } from "../../control/records/principal.ts";
import { MandateError, type MandateErrorCode } from "../../ports/mandate-error.ts";
import type { KeptReply, Store } from "../../ports/store.ts";
import { headOf } from "../../text.ts";
import { doOnce, idempotencyKeyOf, type Outcome } from "./do-once.ts";
import type { OpenRequest } from "./open-requests.ts";
import { fieldErrors, HttpProblem, invalidRequest, problemOf } from "./problem.ts";
import { parseBody, readBody } from "./read-body.ts";
import type { Host, Route, RouteRequest } from "./route.ts";

export interface AnswerParts {
  readonly host: Host;
  readonly mostBodyBytes: number;
  readonly log: (line: string) => void;
  /** Validates every reply against its schema. For tests: it costs time. */
  readonly checkReplies: boolean;
}

export interface RoutedRequest {
  readonly request: Request;
  readonly principal: Principal;
  /** Whether the request comes from the page, with the page's cookie. */
  readonly isPage: boolean;
  readonly params: Readonly<Record<string, string>>;
  readonly open: Pick<OpenRequest, "signal" | "detach">;
}

/** Answers one request by its route: checks role, parameters and body, then calls the handler. */
export async function answerRoute(
  route: Route,
  routed: RoutedRequest,
  parts: AnswerParts,
): Promise<Response> {
  const { principal, request } = routed;
  requireRole(route, principal);
  const url = new URL(request.url);
  const params = parse("path", route.params, routed.params);
  const query = parse("query", route.query ?? nothing, queryOf(url.searchParams));
  const { clock } = parts.host.runtime;
  const bytes = await readBody(request, parts.mostBodyBytes, clock);
  const body = bodyOf(route, bytes);
  const act = async (): Promise<Outcome> =>
    actOn(
      route,
      { params, query, body, principal, isPage: routed.isPage, signal: routed.open.signal },
      { ...parts, host: hostSeenBy(parts.host, principal), named: routed.params },
    );
  const isKept = route.method === "POST" && route.keepsReply !== false;
  const key = isKept ? idempotencyKeyOf(request) : undefined;
  if (key === undefined) return responseOf((await act()).reply, false);
  // With a key the client may disconnect and ask again for the reply, so the work continues without
  // it.
  routed.open.detach();
  const target = url.pathname + url.search;
  const { reply, isReplay } = await doOnce(
    { principal: principal.id, key, method: route.method, target, body: bytes },
    { store: parts.host.runtime.store.idempotency, now: () => clock.now(), log: parts.log },
    act,
  );
  return responseOf(reply, isReplay);
}

export function requireRole({ role }: Pick<Route, "role">, principal: Principal): void {
  if (holdsRole(role, principal)) return;
  throw new HttpProblem(
    "forbidden",
    `This takes the role "${role}"; yours is "${principal.role}".`,
  );
}

const nothing = z.strictObject({});

/** Refuses unknown fields, also where a schema does not say so. */
function strictly(schema: z.ZodType): z.ZodType {
  return schema instanceof z.ZodObject && schema.def.catchall === undefined
    ? schema.strict()
    : schema;
}

function parse(part: string, schema: z.ZodType | undefined, value: unknown): unknown {
  if (schema === undefined) return value;
  const parsed = strictly(schema).safeParse(withoutEmpty(schema, value));
  if (parsed.success) return parsed.data;
  throw invalidRequest(fieldErrors(part, parsed.error));
}

function queryOf(search: URLSearchParams): Readonly<Record<string, string>> {
  const query = new Map<string, string>();
  for (const [name, value] of search) {
    if (query.has(name)) {
      throw invalidRequest([{ field: `query.${headOf(name, 100)}`, message: "is given twice" }]);
    }
    query.set(name, value);
  }
  return Object.fromEntries(query);
}

/** An empty body counts as `{}`. */
function bodyOf(route: Route, bytes: Uint8Array): unknown {
  if (route.body !== undefined) {
    return parse("body", route.body, bytes.length === 0 ? {} : parseBody(bytes));
  }
  if (bytes.length > 0) throw new HttpProblem("request-invalid", "This operation takes no body.");
  return undefined;
}

/** A handler gets a store with only those runs that its caller may see. */
function hostSeenBy(host: Host, principal: Principal): Host {
  const runtime = seenBy(host.runtime, principal);
  return runtime === host.runtime ? host : { ...host, runtime };
}

const stopping = new HttpProblem(
  "unavailable",
  "The server stopped while it handled this request.",
);

async function actOn(
  route: Route,
  request: RouteRequest<unknown, unknown, unknown>,
  { checkReplies, host, log, named }: AnswerParts & { readonly named: RoutedRequest["params"] },
): Promise<Outcome> {
  try {
    if (!seesAllRuns(request.principal)) await requireSeen(host.runtime.store, named);
    const value = await route.handle(request, host);
    if (checkReplies && route.reply !== null) route.reply.parse(value);
    const body = route.reply === null ? "" : JSON.stringify(value);
    const status = route.status ?? (route.reply === null ? 204 : 200);
    return { reply: { status, body }, key: "keep" };
  } catch (error) {
    const isCut = request.signal.aborted && error instanceof Error && error.name === "AbortError";
    const problem = isCut ? stopping.problem : problemOf(error, log);
    const reply = { status: problem.status, body: JSON.stringify(problem) };
    return { reply, key: isCut ? "leave" : problem.status < 500 ? "free" : "keep" };
  }
}

function responseOf({ status, body }: KeptReply, isReplay: boolean): Response {
  const type = status >= 400 ? "application/problem+json" : "application/json";
  return new Response(body === "" ? null : body, {
    status,
    headers: {
      ...(body !== "" && { "content-type": type }),
      ...(isReplay && { "idempotent-replay": "true" }),
    },
  });
}

/** The path parameters that name a run or a part of one, with the error code and noun for each. */
const naming: Readonly<Record<string, readonly [code: MandateErrorCode, what: string]>> = {
  runId: ["unknown-run", "run"],
  delegationId: ["unknown-delegation", "delegation"],
  sessionId: ["unknown-delegation", "session"],
  askId: ["unknown-ask", "question"],
};

/**
 * Refuses a path that names something outside the principal's store, before any handler runs, since
 * the engine is not filtered. Runs of others are refused like runs that do not exist.
 */
async function requireSeen(
  store: Pick<Store, "findRun">,
  params: Readonly<Record<string, string>>,
): Promise<void> {
  for (const [name, id] of Object.entries(params)) {
    const said = Object.hasOwn(naming, name) ? naming[name] : undefined;
    if (said === undefined || (await store.findRun(id)) !== undefined) continue;
    const [code, what] = said;
    throw new MandateError(code, `There is no ${what} ${id}.`);
  }
}
