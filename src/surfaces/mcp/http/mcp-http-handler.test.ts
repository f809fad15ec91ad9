import { McpServer } from "@modelcontextprotocol/server";
import { describe, expect, it, vi } from "vitest";
import { ManualClock } from "../../../testing/manual-clock.ts";
import { until } from "../../../testing/until.ts";
import { type EchoEndpoint, startEchoEndpoint } from "./echo-endpoint.test-support.ts";
import { call, initialize, post, postModern, type RawAnswer } from "./raw-client.test-support.ts";

const echo = (text: string) => ({ name: "echo", arguments: { text } });
const wait = { name: "wait", arguments: {} };

function saidIn({ message }: RawAnswer): { owner: string; said: number; text: string } {
  const content = message.result?.["content"] as [{ text: string }] | undefined;
  return JSON.parse(content?.[0].text ?? "{}");
}

/** Whatever came before: the next one is served as if nothing had been. */
async function expectAlive({ url }: EchoEndpoint): Promise<void> {
  expect(saidIn(await postModern({ url }, 1, "tools/call", echo("alive"))).text).toBe("alive");
  const headers = await initialize({ url });
  const answer = await post({ url, headers }, call(1, "tools/call", echo("alive")));
  expect(saidIn(answer).text).toBe("alive");
}

describe("bad input", () => {
  it("is answered with the code that JSON-RPC has for it", async () => {
    const endpoint = await startEchoEndpoint();
    const { url } = endpoint;
    const codeOf = async (body: unknown, headers = {}) => {
      const { status, message } = await post({ url, headers }, body);
      return [status, message.error?.code];
    };
    expect(await codeOf("{")).toEqual([400, -32_700]);
    expect(await codeOf("")).toEqual([400, -32_700]);
    expect(await codeOf("too-large")).toEqual([400, -32_700]);
    const ping = '"jsonrpc":"2.0","id":1,"method":"ping"';
    for (const params of [
      '{"x":1,"x":2}',
      '{"__proto__":{}}',
      `{"x":${"[".repeat(100)}${"]".repeat(100)}}`,
      `{"x":[${"1,".repeat(60_000)}1]}`,
    ]) {
      expect(await codeOf(`{${ping},"params":${params}}`)).toEqual([400, -32_700]);
    }
    expect(await codeOf([call(1, "ping"), call(2, "ping")])).toEqual([400, -32_600]);
    expect(await codeOf([])).toEqual([400, -32_600]);
    expect(await codeOf("null")).toEqual([400, -32_600]);
    expect(await codeOf({ ...call(1, "ping"), jsonrpc: "1.0" })).toEqual([400, -32_600]);
    expect(await codeOf(call(null, "ping"))).toEqual([400, -32_600]);
    expect(await codeOf(call(1.5, "ping"))).toEqual([400, -32_600]);
    expect(await codeOf(call({}, "ping"))).toEqual([400, -32_600]);
    expect(await codeOf(call(1, "ping"), { "content-type": "text/plain" })).toEqual([415, -32_000]);
    await expectAlive(endpoint);
  });

  it("costs a message of fifty megabytes its connection and nobody else's time", async () => {
    const endpoint = await startEchoEndpoint();
    const { url } = endpoint;
    const huge = `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"${"a".repeat(50e6)}"}}`;
    const answer = await post({ url }, huge).catch(() => undefined);
    if (answer) expect([answer.status, answer.message.error?.code]).toEqual([413, -32_000]);
    await expectAlive(endpoint);
  });

  it("stops reading a body that does not say how long it is", async () => {
    const endpoint = await startEchoEndpoint({ maxMessageBytes: 1000 });
    const sent = vi.fn();
    const body = new ReadableStream({
      pull(controller) {
        sent();
        controller.enqueue(new TextEncoder().encode(" ".repeat(100_000)));
      },
    });
    const headers = { "content-type": "application/json", authorization: "Bearer alice" };
    const init = { method: "POST", headers, body, duplex: "half" } as RequestInit;
    const response = await endpoint.handler.handle(new Request(endpoint.url, init), {
      id: "alice",
      role: "operator",
    });
    expect(response.status).toBe(413);
    expect(sent.mock.calls.length).toBeLessThan(10);
    await expectAlive(endpoint);
  });

  it("in a session of 2025-11-25 leaves the session as it is", async () => {
    const endpoint = await startEchoEndpoint();
    const { url } = endpoint;
    const headers = await initialize({ url });
    const answer = async (message: unknown, more = {}) => {
      const got = await post({ url, headers: { ...headers, ...more } }, message);
      return [got.status, got.message.error?.code];
    };
    expect(await answer(call(1, "no/such"))).toEqual([200, -32_601]);
    expect(await answer(call(2, "tools/call", { name: 5 }))).toEqual([200, -32_602]);
    expect(await answer(call(3, "ping"), { "mcp-protocol-version": "1999-01-01" })).toEqual([
      400, -32_000,
    ]);
    const params = { requestId: 999, reason: "never was" };
    expect(await answer({ jsonrpc: "2.0", method: "notifications/cancelled", params })).toEqual([
      202,
      undefined,
    ]);
    // A version that is not named is the one that was agreed on.
    const { "mcp-protocol-version": _, ...unversioned } = headers;
    expect((await post({ url, headers: unversioned }, call(4, "ping"))).status).toBe(200);
    expect(saidIn(await post({ url, headers }, call(5, "tools/call", echo("on")))).text).toBe("on");
  });

  it("of 2026-07-28 is told apart by headers, envelope and method", async () => {
    const endpoint = await startEchoEndpoint();
    const { url } = endpoint;
    const modern = { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/list" };
    const bare = await post({ url, headers: modern }, call(1, "tools/list"));
    expect([bare.status, bare.message.error?.code, bare.message.id]).toEqual([400, -32_602, 1]);
    const unnamed = await postModern({ url, headers: { "mcp-method": "x" } }, 2, "tools/list");
    expect([unnamed.status, unnamed.message.error?.code]).toEqual([400, -32_020]);
    const unknown = await postModern({ url }, 3, "no/such");
    expect([unknown.status, unknown.message.error?.code, unknown.message.id]).toEqual([
      404, -32_601, 3,
    ]);
    const version = { "mcp-protocol-version": "2025-11-25" };
    const mixed = await postModern({ url, headers: version }, 4, "tools/list");
    expect([mixed.status, mixed.message.error?.code]).toEqual([400, -32_020]);
    await expectAlive(endpoint);
  });
});

describe("a session of 2025-11-25", () => {
  it("does not exist for another principal, nor once it has ended", async () => {
    const endpoint = await startEchoEndpoint();
    const { url } = endpoint;
    const headers = await initialize({ url, token: "alice" });
    const foreign = await post({ url, token: "bob", headers }, call(1, "tools/list"));
    const invented = { ...headers, "mcp-session-id": "invented" };
    const unknown = await post({ url, token: "bob", headers: invented }, call(1, "tools/list"));
    expect(foreign).toEqual(unknown);
    expect([foreign.status, foreign.message.error?.code]).toEqual([404, -32_001]);
    for (const method of ["GET", "DELETE"]) {
      const accept = "text/event-stream";
      const sent = { ...headers, authorization: "Bearer bob", accept };
      expect((await fetch(url, { method, headers: sent })).status).toBe(404);
    }
    expect((await post({ url, headers }, call(2, "tools/list"))).status).toBe(200);
    const own = { ...headers, authorization: "Bearer alice" };
    expect((await fetch(url, { method: "DELETE", headers: own })).status).toBe(200);
    expect((await post({ url, headers }, call(3, "tools/list"))).status).toBe(404);
    expect(endpoint.sessions.map(({ isClosed }) => isClosed)).toEqual([true]);
  });

  it("is over for a principal whose role has changed", async () => {
    const { url } = await startEchoEndpoint();
    const headers = await initialize({ url, token: "alice" });
    const now = await post({ url, token: "alice/viewer", headers }, call(1, "tools/list"));
    expect(now.status).toBe(404);
  });

  it("is wanted by everything but initialize", async () => {
    const { url } = await startEchoEndpoint();
    const { status, message } = await post({ url }, call(1, "tools/list"));
    expect([status, message.error?.code]).toEqual([400, -32_000]);
    const headers = { accept: "text/event-stream", authorization: "Bearer alice" };
    expect((await fetch(url, { headers })).status).toBe(400);
  });

  it("refuses an id whose request is not answered yet, and takes it again afterwards", async () => {
    const endpoint = await startEchoEndpoint();
    const { url } = endpoint;
    const headers = await initialize({ url });
    const slow = post({ url, headers }, call(7, "tools/call", wait));
    await until("the call is begun", () => endpoint.begun === 1);
    const again = await post({ url, headers }, call(7, "tools/call", echo("x")));
    expect([again.status, again.message.error?.code]).toEqual([400, -32_600]);
    endpoint.finishWaits();
    expect((await slow).message.result).toBeDefined();
    const later = await post({ url, headers }, call(7, "tools/call", echo("later")));
    expect(saidIn(later).text).toBe("later");
  });

  it("is closed when nobody uses it, unless something works below it", async () => {
    const clock = new ManualClock();
    const endpoint = await startEchoEndpoint({ idleMs: 1000, clock });
    const { url, sessions } = endpoint;
    const idle = await initialize({ url });
    const busy = await initialize({ url });
    const [, second] = sessions;
    if (second) second.isBusy = true;
    await clock.advance(5000);
    await until("the idle session is closed", () => sessions[0]?.isClosed);
    expect(sessions.map(({ isClosed }) => isClosed)).toEqual([true, false]);
    expect((await post({ url, headers: idle }, call(1, "ping"))).status).toBe(404);
    expect((await post({ url, headers: busy }, call(1, "ping"))).status).toBe(200);
  });

  it("gives way to a new one when its principal has too many, but not while it works", async () => {
    const endpoint = await startEchoEndpoint({ maxSessionsPerPrincipal: 2 });
    const { url, sessions } = endpoint;
    const first = await initialize({ url });
    await initialize({ url });
    await initialize({ url });
    expect((await post({ url, headers: first }, call(1, "ping"))).status).toBe(404);
    for (const session of sessions) session.isBusy = true;
    const clientInfo = { name: "raw", version: "1.0.0" };
    const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
    expect((await post({ url }, call(1, "initialize", params))).status).toBe(503);
    expect((await initialize({ url, token: "bob" }))["mcp-session-id"]).not.toBe("");
  });

  it("that broke while it began takes nobody's place", async () => {
    const { handler, sessions, url } = await startEchoEndpoint({
      maxSessionsPerPrincipal: 1,
      makeServer() {
        const server = new McpServer({ name: "broken", version: "1.0.0" });
        server.connect = async (transport) => {
          Object.assign(transport, { handleRequest: () => Promise.reject(new Error("It broke.")) });
        };
        return server;
      },
    });
    const clientInfo = { name: "raw", version: "1.0.0" };
    const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
    const body = JSON.stringify(call(1, "initialize", params));
    const headers = { "content-type": "application/json", accept: "application/json" };
    const begin = () =>
      handler.handle(new Request(url, { method: "POST", headers, body }), {
        id: "alice",
        role: "operator",
      });
    // 503 would be: all of your sessions are at work.
    expect((await begin()).status).toBe(500);
    expect((await begin()).status).toBe(500);
    expect(sessions.map(({ isClosed }) => isClosed)).toEqual([true, true]);
  });

  it("ends with the token of its principal", async () => {
    const { url, handler, sessions } = await startEchoEndpoint();
    const headers = await initialize({ url, token: "alice" });
    const other = await initialize({ url, token: "alice2" });
    await handler.forget("alice");
    expect((await post({ url, headers }, call(1, "ping"))).status).toBe(404);
    expect((await post({ url, token: "alice2", headers: other }, call(1, "ping"))).status).toBe(
      200,
    );
    expect(sessions.map(({ isClosed }) => isClosed)).toEqual([true, false]);
  });
});

describe("what a client holds between requests", () => {
  it("of 2026-07-28 is kept by principal and name", async () => {
    const { url, sessions } = await startEchoEndpoint();
    const said = async (token: string) => {
      return saidIn(await postModern({ url, token }, 1, "tools/call", echo("x"))).said;
    };
    expect([await said("alice"), await said("alice"), await said("bob")]).toEqual([1, 2, 1]);
    expect(sessions.map(({ owner, client }) => [owner, client])).toEqual([
      ["alice", "raw"],
      ["bob", "raw"],
    ]);
  });
});

describe("a client that goes away in the middle of a call", () => {
  it("has not taken it back in 2025-11-25", async () => {
    const endpoint = await startEchoEndpoint();
    const { url, waits } = endpoint;
    const headers = await initialize({ url });
    const gone = new AbortController();
    const slow = post({ url, headers, signal: gone.signal }, call(1, "tools/call", wait));
    await until("the call is begun", () => endpoint.begun === 1);
    gone.abort();
    await expect(slow).rejects.toThrow();
    // Had the client's leaving taken it back, that would be known before this is answered.
    expect((await post({ url, headers }, call(2, "ping"))).status).toBe(200);
    endpoint.finishWaits();
    await until("the call ends", () => waits.length > 0);
    expect(waits).toEqual(["done"]);
  });

  it("has taken it back by saying so", async () => {
    const endpoint = await startEchoEndpoint();
    const { url, waits } = endpoint;
    const headers = await initialize({ url });
    const gone = new AbortController();
    const slow = post({ url, headers, signal: gone.signal }, call(1, "tools/call", wait));
    await until("the call is begun", () => endpoint.begun === 1);
    const params = { requestId: 1 };
    await post({ url, headers }, { jsonrpc: "2.0", method: "notifications/cancelled", params });
    await until("the call ends", () => waits.length > 0);
    expect(waits).toEqual(["taken back"]);
    gone.abort();
    await expect(slow).rejects.toThrow();
  });

  it("has taken it back in 2026-07-28", async () => {
    const endpoint = await startEchoEndpoint();
    const { url, waits } = endpoint;
    const gone = new AbortController();
    const slow = postModern({ url, signal: gone.signal }, 1, "tools/call", wait);
    await until("the call is begun", () => endpoint.begun === 1);
    gone.abort();
    await expect(slow).rejects.toThrow();
    await until("the call ends", () => waits.length > 0);
    expect(waits).toEqual(["taken back"]);
  });
});
