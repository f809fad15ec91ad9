import type { HttpBindings } from "@hono/node-server";
import { type Context, type Handler, Hono } from "hono";
import type { Principal } from "../../control/records/principal.ts";
import type { Clock } from "../../ports/clock.ts";
import { AllowedHosts } from "./allowed-hosts.ts";
import { type AnswerParts, answerRoute, requireRole } from "./answer-route.ts";
import { checkHeaders, checkTarget } from "./check-target.ts";
import { type Caller, Guard, type Rate } from "./guard.ts";
import { type MountContext, type MountPoint, type Mounts, mountPoints } from "./mount.ts";
import { OpenAccess, type OpenRequest, OpenRequests } from "./open-requests.ts";
import { openApiRoute } from "./openapi/openapi-route.ts";
import {
  answerPageSession,
  createPageCode,
  pageCodePath,
  pageSessionPath,
} from "./page/page-endpoints.ts";
import { PageSessions } from "./page/page-sessions.ts";
import { HttpProblem, problemOf, problemResponse, replyHeaders } from "./problem.ts";
import { checkForm, readBody } from "./read-body.ts";
import type { Host, Route } from "./route.ts";

export interface AppOptions extends Mounts {
  readonly routes: readonly Route[];
  /** Host names of this machine other than its loopback addresses. */
  readonly allowedHosts?: readonly string[] | undefined;
  readonly mostBodyBytes?: number | undefined;
  readonly rate?: Rate | undefined;
  readonly failureRate?: Rate | undefined;
  /** How often the token behind a long-running response is checked again. */
  readonly accessCheckMs?: number | undefined;
  /** Served without a token to GET requests outside the API; undefined: no such file. */
  readonly staticFiles?: ((request: Request) => Promise<Response | undefined>) | undefined;
  readonly pages?: PageSessions | undefined;
  /** How a person gets a new link to the page: a command, or what to press. */
  readonly linkHint?: string | undefined;
  readonly open?: OpenRequests | undefined;
  readonly checkReplies?: boolean | undefined;
  readonly log?: ((line: string) => void) | undefined;
  /**
   * Called after every request, with the operation's id (never the path), the status and the
   * duration.
   */
  readonly onRequest?: ((operation: string, status: number, ms: number) => void) | undefined;
}

type Bindings = {
  Bindings: Partial<HttpBindings>;
  Variables: { caller: Caller; operation: string };
};
type AppContext = Context<Bindings>;

const apiPrefix = "/api/v1";
const usualBodyBytes = 1024 * 1024;

/**
 * The whole HTTP surface: routes, streams, MCP, metrics and files, all behind one guard. It may
 * import the runtime, application services, sessions, control and events; the order of checks in it
 * is security.
 */
export function createApp(host: Host, options: AppOptions): Hono<Bindings> {
  const { log = logToStderr, open = new OpenRequests() } = options;
  const { clock } = host.runtime;
  const monotonic = (): number => clock.monotonic();
  const pages =
    options.pages ?? new PageSessions({ now: () => clock.now(), store: host.runtime.store });
  const port = Number(new URL(host.origin).port || 80);
  const cookieName = pages.cookieName(port);
  const allowed = new AllowedHosts(port, options.allowedHosts);
  const { failureRate, linkHint, rate } = options;
  const { tokens } = host;
  const access = new OpenAccess(tokens, pages, clock, options.accessCheckMs);
  const guard = new Guard({ tokens, pages, allowed, cookieName, monotonic, rate, failureRate });
  const parts: AnswerParts = {
    host,
    log,
    mostBodyBytes: options.mostBodyBytes ?? usualBodyBytes,
    checkReplies: options.checkReplies ?? false,
  };
  const app = new Hono<Bindings>();

  app.onError((error) => {
    const headers = error instanceof HttpProblem ? error.headers : {};
    return problemResponse(problemOf(error, log), headers);
  });
  app.notFound(() => {
    throw new HttpProblem("not-found", "No operation has this path.");
  });

  app.use("*", async (context, next) => {
    const { outgoing } = context.env ?? {};
    // A stream writes to the connection directly and bypasses the response that is returned here.
    if (outgoing) for (const [name, value] of headers) outgoing.setHeader(name, value);
    const startedAt = monotonic();
    await next();
    options.onRequest?.(
      context.get("operation") ?? "none",
      context.res.status,
      monotonic() - startedAt,
    );
    for (const [name, value] of headers) {
      if (!context.res.headers.has(name)) context.res.headers.set(name, value);
    }
  });

  app.use("*", async (context, next) => {
    const { raw: request, path } = context.req;
    const { incoming } = context.env ?? {};
    if (open.isStopping) throw new HttpProblem("unavailable", "The server is stopping.");
    checkTarget(incoming?.url ?? request.url.slice(new URL(request.url).origin.length));
    if (incoming) checkHeaders(incoming.rawHeaders);
    if (options.staticFiles && isPublic(request, path)) {
      guard.checkHost(request);
      const file = await options.staticFiles(request);
      if (file !== undefined) return file;
      throw new HttpProblem("not-found", "There is no such page.");
    }
    guard.checkPlace(request);
    const address = incoming?.socket.remoteAddress ?? "";
    if (path === pageSessionPath) {
      const { localAddress = "", localPort = 0 } = incoming?.socket ?? {};
      const place = `${localAddress.replace(/^::ffff:/, "")}:${localPort}`;
      const prove = (nonce: string): string => tokens.prove(`${place} ${nonce}`);
      return answerPageSession(request, address, {
        ...{ guard, pages, cookieName, clock, linkHint, prove },
      });
    }
    const caller = await guard.identify(request, address);
    checkForm(request);
    if (request.method === "HEAD") throw methodNotAllowed(["GET", "POST", "PUT", "DELETE"]);
    context.set("caller", caller);
    return next();
  });

  const methods = new Map<string, Set<string>>();
  const add = (method: string, path: string, answer: Handler<Bindings>): void => {
    app.on(method, path, answer);
    methods.set(path, (methods.get(path) ?? new Set()).add(method));
  };
  const table: readonly Route[] = [...options.routes, openApiRoute(() => table)];
  // Mounts come before routes: a stream may share its path with a route, or match one with a
  // parameter.
  for (const point of mountPoints(options)) {
    const isShared = table.some(({ path }) => apiPrefix + path === point.path);
    for (const method of point.methods) {
      add(method, point.path, async (context, next) => {
        const { raw: request } = context.req;
        if (isShared && !acceptsStream(request)) return next();
        context.set("operation", point.name);
        const { principal, session } = context.get("caller");
        const isPage = session !== undefined;
        const params = context.req.param();
        const { outgoing } = context.env ?? {};
        return within(context, ({ signal }) =>
          answerMount(point, request, principal, { params, outgoing, isPage, signal, clock }),
        );
      });
    }
  }
  for (const route of sortRoutes(table)) {
    add(route.method, apiPrefix + route.path, (context) => {
      context.set("operation", route.id);
      const { principal, session } = context.get("caller");
      const isPage = session !== undefined;
      const { raw: request } = context.req;
      const params = context.req.param();
      guard.charge(principal, (route.cost ?? 1) - 1);
      return within(context, (opened) =>
        answerRoute(route, { request, principal, isPage, params, open: opened }, parts),
      );
    });
  }
  add("POST", pageCodePath, async (context) =>
    createPageCode(context.req.raw, context.get("caller"), { pages, clock }),
  );
  for (const [path, known] of methods) {
    app.all(path, () => {
      throw methodNotAllowed([...known]);
    });
  }
  return app;

  /**
   * Gives the handler a signal that lives as long as the response: for a stream, until the
   * connection closes.
   */
  async function within(
    context: AppContext,
    answer: (opened: OpenRequest) => Promise<Response>,
  ): Promise<Response> {
    const { outgoing } = context.env ?? {};
    const opened = open.begin(context.req.raw.signal);
    const endAccess = access.begin(context.get("caller"), () => outgoing?.destroy());
    const end = (): void => {
      endAccess();
      opened.end();
    };
    try {
      return await answer(opened);
    } finally {
      if (outgoing && !outgoing.closed) outgoing.once("close", end);
      else end();
    }
  }
}

const headers = Object.entries(replyHeaders);

function isPublic(request: Request, path: string): boolean {
  const isReserved = ["/api", "/mcp", "/metrics"].some(
    (prefix) => path === prefix || path.startsWith(`${prefix}/`),
  );
  return request.method === "GET" && !isReserved;
}

function methodNotAllowed(methods: readonly string[]): HttpProblem {
  const allow = methods.join(", ");
  return new HttpProblem("method-not-allowed", `Use ${allow}.`, { headers: { allow } });
}

function logToStderr(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** Fixed segments before parameters: `/inbox/read` must not match `/inbox/:askId`. */
function sortRoutes(routes: readonly Route[]): readonly Route[] {
  return routes.toSorted((a, b) => compare(keyOf(a.path), keyOf(b.path)));
}

function keyOf(path: string): string {
  // U+FFFF sorts after every character of a fixed segment.
  return path.replace(/\/:\w+/g, "/\u{ffff}");
}

function compare(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}

/** Calls a mount with a body that was read completely and is within its limit. */
async function answerMount(
  point: MountPoint,
  request: Request,
  principal: Principal,
  context: MountContext & { readonly clock: Clock },
): Promise<Response> {
  requireRole(point, principal);
  const { handle, mostBodyBytes } = point;
  return handle(await withLimitedBody(request, mostBodyBytes, context.clock), principal, context);
}

async function withLimitedBody(
  request: Request,
  mostBytes: number,
  clock: Clock,
): Promise<Request> {
  const { method, url, headers, signal } = request;
  if (method === "GET") return request;
  const body = await readBody(request, mostBytes, clock);
  return new Request(url, { method, headers, signal, ...(body.length > 0 && { body }) });
}

/** Where a stream and a list share a path, the Accept header decides. */
function acceptsStream({ headers }: Request): boolean {
  return /(^|[ ,])text\/event-stream *($|[,;])/i.test(headers.get("accept") ?? "");
}
