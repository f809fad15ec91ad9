import { once } from "node:events";
import { Agent, request as httpRequest, type IncomingHttpHeaders } from "node:http";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { z } from "zod";
import { AccessTokens, installationToken } from "../../control/access/access-tokens.ts";
import { systemClock } from "../../ports/clock.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import { openEngine, type TestEngine } from "../../testing/engine-fixture.ts";
import { until } from "../../testing/until.ts";
import type { PageSessions } from "./page/page-sessions.ts";
import { defineRoute, type Route } from "./route.ts";
import { type RunningServer, type ServerOptions, startServer } from "./serve.ts";

export interface TestServer extends AsyncDisposable {
  readonly server: RunningServer;
  readonly engine: TestEngine;
  readonly tokens: AccessTokens;
  /** The installation's own: an admin. */
  readonly token: string;
  /** What the server wrote into its log. */
  readonly log: string[];
  /** Lets tokens run out that expire within so many milliseconds. */
  forward(ms: number): void;
  tokenFor(role: "viewer" | "operator"): Promise<string>;
  send(sent: Sent): Promise<Received>;
  socket(): Socket;
}

export interface Sent {
  readonly method?: string;
  readonly path: string;
  /** Undefined takes away what would be sent otherwise: the token, the host. */
  readonly headers?: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body?: string | Buffer;
}

export interface Received {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  json(): Readonly<Record<string, unknown>>;
}

/** The whole server on a real socket, with the routes of a test. */
export async function openServer(
  options: Partial<Omit<ServerOptions, "host">> = {},
): Promise<TestServer> {
  const engine = await openEngine({ model: () => ({ text: "done" }) });
  const file = join(engine.home, "tokens", "local");
  let forwardMs = 0;
  const clock = { ...systemClock, now: () => Date.now() + forwardMs };
  const tokens = new AccessTokens(engine.store, file, clock);
  const token = installationToken(file);
  const log: string[] = [];
  const server = await startServer({
    host: { runtime: engine, tokens, workspaces: [engine.workspace], startedAt: Date.now() },
    port: 0,
    routes: testRoutes,
    checkReplies: true,
    log: (line) => void log.push(line),
    ...options,
  });
  const agent = new Agent({ keepAlive: true, maxSockets: 30 });
  const address = { host: "127.0.0.1", port: server.port };
  return {
    server,
    engine,
    tokens,
    token,
    log,
    forward(ms) {
      forwardMs += ms;
    },
    async tokenFor(role) {
      const made = await tokens.create({ name: role, role }, { id: "test", role: "admin" });
      return made.token;
    },
    send: ({ method = "GET", path, headers = {}, body }) =>
      new Promise((resolve, reject) => {
        const all = {
          host: `127.0.0.1:${server.port}`,
          authorization: `Bearer ${token}`,
          ...(body !== undefined && { "content-length": String(Buffer.byteLength(body)) }),
          ...headers,
        };
        // As a list they are sent as they are, also twice.
        const list = Object.entries(all).flatMap(([name, value]) =>
          [value ?? []].flat().flatMap((one) => [name, one]),
        );
        const request = httpRequest(
          { ...address, method, path, headers: list, agent },
          (response) => {
            const chunks: Buffer[] = [];
            response.on("data", (chunk: Buffer) => chunks.push(chunk));
            response.on("error", reject);
            response.on("end", () => {
              const text = Buffer.concat(chunks).toString();
              const { statusCode = 0, headers: received } = response;
              resolve({
                status: statusCode,
                headers: received,
                text,
                json: () => JSON.parse(text),
              });
            });
          },
        );
        request.on("error", reject);
        request.end(body);
      }),
    socket: () => connect(address),
    async [Symbol.asyncDispose]() {
      agent.destroy();
      await server.close(100);
      await engine[Symbol.asyncDispose]();
    },
  };
}

/**
 * Sends what is too large. Where a busy machine takes long to send it, the server closes the
 * connection before the client has read the refusal: then it is sent again.
 */
export function sendLarge(http: TestServer, sent: Sent): Promise<Received> {
  const headers = { ...sent.headers, connection: "close" };
  return until("an answer", () => http.send({ ...sent, headers }).catch(() => undefined));
}

/** A session of the page, as a browser on this machine gets one. */
export async function beginPage(pages: PageSessions, token: string): Promise<string> {
  const exchanged = await pages.exchange(pages.createCode(token).code, { isLocal: true });
  return "session" in exchanged ? exchanged.session : "";
}

/** Sends JSON. */
export const json = { "content-type": "application/json" };

/** What comes back over a connection until it ends. */
export async function readAll(socket: Socket): Promise<string> {
  let text = "";
  socket.setEncoding("latin1");
  socket.on("error", () => undefined);
  socket.on("data", (chunk) => {
    text += chunk;
  });
  await new Promise((resolve) => socket.once("close", resolve));
  return text;
}

/** How often a thing was made, for tests of what is done once. */
export const counted = { times: 0 };

let letGo = new AbortController();

/** From now on until `release` a request that asks to be held is. */
export function holdRequests(): { release(): void } {
  const held = new AbortController();
  letGo = held;
  return { release: () => held.abort() };
}

async function untilReleased(signal: AbortSignal | undefined): Promise<void> {
  if (!letGo.signal.aborted) await once(letGo.signal, "abort", signal && { signal });
}

export const testRoutes: readonly Route[] = [
  defineRoute({
    id: "listThings",
    method: "GET",
    path: "/things",
    summary: "Things",
    tag: "things",
    role: "viewer",
    query: z.strictObject({ limit: z.string().optional() }),
    reply: z.object({ query: z.unknown() }),
    handle: ({ query }) => ({ query }),
  }),
  defineRoute({
    id: "makeThing",
    method: "POST",
    path: "/things",
    summary: "Makes one",
    tag: "things",
    role: "operator",
    body: z.strictObject({
      name: z.string().max(2_000_000),
      fail: z.string().optional(),
      isHeld: z.boolean().optional(),
      leaves: z.boolean().optional(),
    }),
    status: 201,
    reply: z.object({ name: z.string(), by: z.string(), count: z.number() }),
    async handle({ body, principal, signal }) {
      if (body.fail === "policy") throw new MandateError("refused-by-policy", "Not that one.");
      if (body.fail === "full") throw new MandateError("storage-full", "/secret/path is full.");
      counted.times += 1;
      if (body.fail === "inside") throw new Error("secret of the inside");
      if (body.isHeld) await untilReleased(body.leaves ? signal : undefined);
      return { name: body.name, by: principal.id, count: counted.times };
    },
  }),
  defineRoute({
    id: "getThing",
    method: "GET",
    path: "/things/:id",
    summary: "One",
    tag: "things",
    role: "viewer",
    params: z.object({ id: z.string().max(40) }),
    reply: z.object({ id: z.string() }),
    handle({ params: { id } }) {
      if (id === "missing") throw new MandateError("unknown-run", "There is no run missing.");
      return { id };
    },
  }),
  defineRoute({
    id: "putThing",
    method: "PUT",
    path: "/things/:id",
    summary: "Changes one",
    tag: "things",
    role: "operator",
    params: z.object({ id: z.string() }),
    body: z.object({ name: z.string() }),
    reply: null,
    handle: () => null,
  }),
  defineRoute({
    id: "deleteThing",
    method: "DELETE",
    path: "/things/:id",
    summary: "Deletes one",
    tag: "things",
    role: "admin",
    params: z.object({ id: z.string() }),
    reply: null,
    handle: () => null,
  }),
  defineRoute({
    id: "getSpecialThing",
    method: "GET",
    path: "/things/special",
    summary: "The special one",
    tag: "things",
    role: "viewer",
    reply: z.object({ special: z.boolean() }),
    handle: () => ({ special: true }),
  }),
];
