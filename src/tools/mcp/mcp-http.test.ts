import { afterEach, describe, expect, it } from "vitest";
import type { HttpServer } from "../../contracts/mcp-server.ts";
import { until } from "../../testing/until.ts";
import { exampleServer, seen } from "./example-server.test-support.ts";
import {
  type HttpTestServer,
  serveHttp,
  statelessly,
  withSessions,
} from "./http-server.test-support.ts";
import type { McpServers } from "./mcp-servers.ts";
import { call, openFor, testServers, variable } from "./opened.test-support.ts";

let servers: McpServers;
const running: HttpTestServer[] = [];
afterEach(async () => {
  await servers.close();
  await Promise.all(running.splice(0).map((server) => server.close()));
});

async function serve(answer: Parameters<typeof serveHttp>[0]): Promise<HttpTestServer> {
  const server = await serveHttp(answer);
  running.push(server);
  return server;
}

const at = (url: string, headers?: Record<string, string>): HttpServer => ({
  kind: "http",
  url,
  ...(headers && { headers }),
});

const kinds = {
  "the newer revision": () => statelessly(exampleServer, "reject"),
  "both revisions": () => statelessly(exampleServer, "stateless"),
  "the older revision with sessions": () => withSessions(exampleServer),
};

describe.each(Object.entries(kinds))("a server that speaks %s", (_, kind) => {
  it("is called, and given its headers", async () => {
    const server = await serve(kind());
    servers = testServers({ environment: { SERVICE_KEY: "hush-hush" } });
    const tools = await openFor(servers, at(server.url, { "X-Key": variable("SERVICE_KEY") }));
    expect(tools).toHaveLength(13);
    expect(await call(tools, "echo", { text: "over http" })).toEqual({ text: "over http" });
    expect(await call(tools, "structured")).toEqual({ text: '{"answer":42}' });
    expect(new Set(server.requests.map(({ headers }) => headers.get("x-key")))).toEqual(
      new Set(["hush-hush"]),
    );
    // Nothing listens for what a server says unasked.
    expect(server.requests.filter(({ method }) => method === "GET")).toEqual([]);
  });

  it("learns that a call was cancelled", async () => {
    const server = await serve(kind());
    servers = testServers();
    const tools = await openFor(servers, at(server.url));
    const before = { ...seen };
    const abort = new AbortController();
    const waiting = call(tools, "wait", {}, abort.signal);
    await until("the call has come", () => seen.waiting > before.waiting);
    abort.abort(new Error("enough"));
    await expect(waiting).rejects.toThrow("enough");
    await until("the server has heard of it", () => seen.cancelled > before.cancelled);
    expect(await call(tools, "echo", { text: "on" })).toEqual({ text: "on" });
  });
});

describe("a server that keeps sessions", () => {
  it("and has forgotten ours is greeted again, and the call made once", async () => {
    const sessions = withSessions(exampleServer);
    const server = await serve(sessions);
    servers = testServers();
    const tools = await openFor(servers, at(server.url));
    sessions.forget();
    const before = seen.calls;
    expect(await call(tools, "echo", { text: "again" })).toEqual({ text: "again" });
    expect(seen.calls).toBe(before + 1);
  });

  it("is told that the session is over", async () => {
    const server = await serve(withSessions(exampleServer));
    servers = testServers();
    await openFor(servers, at(server.url));
    await servers.close();
    expect(server.requests.at(-1)?.method).toBe("DELETE");
  });
});

describe("a server that misbehaves", () => {
  it("is not there", async () => {
    const server = await serveHttp(async () => new Response(null));
    await server.close();
    servers = testServers();
    await expect(openFor(servers, at(server.url))).rejects.toThrow(
      'The MCP server "example" cannot be reached: nothing answers there.',
    );
  });

  it("redirects to another origin: our headers do not go there", async () => {
    const other = await serve(statelessly(exampleServer, "stateless"));
    const server = await serve(
      async () => new Response(null, { status: 307, headers: { location: other.url } }),
    );
    servers = testServers();
    await expect(openFor(servers, at(server.url, { "X-Key": "hush-hush" }))).rejects.toThrow(
      "redirects to another place, which is not followed.",
    );
    expect(other.requests).toEqual([]);
  });

  it("refuses us and repeats our key: the sentence does not", async () => {
    const server = await serve(
      async (request) =>
        new Response(`bad key ${request.headers.get("authorization")}`, { status: 401 }),
    );
    servers = testServers({ environment: { K: "hush-hush" } });
    const error = await openFor(
      servers,
      at(server.url, { Authorization: `Bearer ${variable("K")}` }),
    ).catch((reason: Error) => reason);
    expect(String(error)).toContain("refused us (HTTP 401); check its headers");
    expect(String(error)).not.toContain("hush");
  });

  it("repeats our key in an error of the protocol: the sentence does not", async () => {
    const server = await serve(async (request) => {
      const { id } = JSON.parse(await request.text());
      const error = { code: -32603, message: `odd: ${request.headers.get("authorization")}` };
      return Response.json({ jsonrpc: "2.0", id, error });
    });
    servers = testServers({ environment: { K: "hush-hush" } });
    const error = await openFor(
      servers,
      at(server.url, { Authorization: `Bearer ${variable("K")}` }),
    ).catch((reason: Error) => reason);
    expect(String(error)).toContain("odd: [redacted]");
    expect(String(error)).not.toContain("hush");
  });

  it("sends more than can be held, declared or not", async () => {
    const inner = statelessly(exampleServer, "reject");
    const server = await serve(inner);
    servers = testServers();
    const tools = await openFor(servers, at(server.url));
    expect(await call(tools, "large", { bytes: 17_000_000 })).toEqual({
      text: 'The MCP server "example" failed: it sent more than 16 MB in one reply.',
      isError: true,
    });
    expect(await call(tools, "large", { bytes: 10_000_000 })).not.toHaveProperty("isError");
  });

  it("never stops sending", async () => {
    const inner = statelessly(exampleServer, "reject");
    const chunk = new TextEncoder().encode(`: ${"x".repeat(1_000_000)}\n\n`);
    const server = await serve(async (request) => {
      if (request.headers.get("mcp-method") !== "tools/call") return inner(request);
      const body = new ReadableStream({ pull: (controller) => controller.enqueue(chunk) });
      return new Response(body, { headers: { "content-type": "text/event-stream" } });
    });
    servers = testServers();
    const tools = await openFor(servers, at(server.url));
    expect(await call(tools, "echo", { text: "x" })).toMatchObject({ isError: true });
  });

  it("breaks the reply off: the call fails at once, not at its timeout", async () => {
    const inner = statelessly(exampleServer, "reject");
    const server = await serve(async (request) => {
      if (request.headers.get("mcp-method") !== "tools/call") return inner(request);
      const body = new ReadableStream({
        start(controller) {
          controller.enqueue(new TextEncoder().encode(": working\n\n"));
        },
        // Asked for more once that has gone out.
        pull: (controller) => controller.close(),
      });
      return new Response(body, { headers: { "content-type": "text/event-stream" } });
    });
    servers = testServers();
    const tools = await openFor(servers, at(server.url));
    expect(await call(tools, "echo", { text: "x" })).toEqual({
      text: 'The MCP server "example" answered: The connection ended before the reply.',
      isError: true,
    });
  });

  it("fails and says why: so does the sentence", async () => {
    const server = await serve(async () => new Response("over \u001b[31mquota", { status: 429 }));
    servers = testServers();
    await expect(openFor(servers, at(server.url))).rejects.toThrow(
      /^The MCP server "example" answered with HTTP 429/,
    );
  });

  it("never answers: starting it ends in time", async () => {
    const server = await serve(() => new Promise(() => {}));
    servers = testServers({ startTimeoutMs: 200 });
    await expect(openFor(servers, at(server.url))).rejects.toThrow(
      'The MCP server "example" did not answer within 200 ms.',
    );
  });
});
