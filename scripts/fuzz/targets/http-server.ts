import { Agent, request as sendRequest } from "node:http";
import { connect } from "node:net";
import { join } from "node:path";
import { AccessTokens, installationToken } from "../../../src/control/access/access-tokens.ts";
import { routes } from "../../../src/surfaces/http/routes/all-routes.ts";
import { startServer } from "../../../src/surfaces/http/serve.ts";
import { EventHub } from "../../../src/surfaces/http/streams/event-hub.ts";
import { eventStreams } from "../../../src/surfaces/http/streams/event-stream.ts";
import { serveMandate } from "../../../src/surfaces/mcp/http/serve-mandate.ts";
import { openEngine, type TestEngine, testProfile } from "../../../src/testing/engine-fixture.ts";

export interface Sent {
  readonly method: string;
  readonly path: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: string | Uint8Array;
}

export interface Received {
  readonly status: number;
  readonly type: string;
  readonly text: string;
}

export interface HttpServer {
  readonly engine: TestEngine;
  readonly port: number;
  readonly token: string;
  readonly viewer: string;
  readonly runId: string;
  readonly delegationId: string;
  /** What it says of itself when something goes wrong inside. */
  readonly log: readonly string[];
  send(sent: Sent): Promise<Received>;
  /** Sends bytes over a connection of their own; gives what comes back until it ends. */
  exchange(bytes: string, forMs: number): Promise<string>;
  close(): Promise<void>;
}

/** The whole server on a real socket, over a home with a run that ended. */
export async function openHttpServer(): Promise<HttpServer> {
  const engine = await openEngine({ profiles: [testProfile("helper")], model: () => "done" });
  const { delegationId, runId } = await engine.run({ task: "first", profile: "helper" });
  const file = join(engine.home, "tokens", "local");
  const tokens = new AccessTokens(engine.store, file);
  const viewer = (await tokens.create({ name: "vera", role: "viewer" }, { id: "a", role: "admin" }))
    .token;
  const log: string[] = [];
  const hub = new EventHub(engine.store);
  const streams = eventStreams(hub);
  const workspaces = [engine.workspace];
  const mcp = serveMandate({ runtime: engine, workspaces });
  const server = await startServer({
    host: { runtime: engine, tokens, workspaces, startedAt: Date.now() },
    ...{ port: 0, routes, checkReplies: true, rate: { perSecond: 1e6, burst: 1e6 } },
    ...{ events: streams.events, inboxEvents: streams.inbox, mcp: mcp.handle },
    timeouts: { headersMs: 400, requestMs: 600, keepAliveMs: 400, checkMs: 50 },
    log: (line) => void log.push(line),
  });
  const agent = new Agent({ keepAlive: true, maxSockets: 8 });
  const { port } = server;
  return {
    ...{ engine, port, token: installationToken(file), viewer, runId, delegationId, log },
    send: (sent) => send(port, agent, sent),
    exchange: (bytes, forMs) => exchange(port, bytes, forMs),
    async close() {
      agent.destroy();
      await mcp.close();
      await server.close(100);
      hub.close();
      await engine[Symbol.asyncDispose]();
    },
  };
}

function send(
  port: number,
  agent: Agent,
  { body, headers, method, path }: Sent,
): Promise<Received> {
  return new Promise((resolve, reject) => {
    const list = headers.flat();
    const request = sendRequest({ host: "127.0.0.1", port, method, path, headers: list, agent });
    request.on("response", (response) => {
      const { statusCode: status = 0, headers: given } = response;
      const type = given["content-type"] ?? "";
      let text = "";
      const end = (): void => resolve({ status, type, text });
      response.setEncoding("utf8").on("data", (chunk: string) => {
        text += chunk;
      });
      response.on("end", end).on("error", end);
      // A stream has no end.
      if (type.startsWith("text/event-stream")) {
        setTimeout(() => {
          response.destroy();
          end();
        }, 15);
      }
    });
    request.on("error", reject);
    request.end(body);
  });
}

function exchange(port: number, bytes: string, forMs: number): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect({ host: "127.0.0.1", port });
    let text = "";
    const timer = setTimeout(() => socket.destroy(), forMs);
    socket.setEncoding("latin1").on("data", (chunk: string) => {
      text += chunk;
    });
    socket.on("error", () => undefined);
    socket.on("close", () => {
      clearTimeout(timer);
      resolve(text);
    });
    socket.write(bytes, "latin1");
  });
}
