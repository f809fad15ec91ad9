import { once } from "node:events";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { rotateInstallationToken } from "../../control/access/access-tokens.ts";
import type { Mount } from "./mount.ts";
import { beginPage, openServer, type TestServer } from "./server.test-support.ts";

/** A stream that says nothing and never ends by itself. */
const silent: Mount = async (_request, _principal, { outgoing }) => {
  outgoing?.writeHead(200, { "content-type": "text/event-stream" }).write(": open\n\n");
  const response = new Response(null, { headers: { "x-hono-already-sent": "true" } });
  void response.body;
  return response;
};

const admin = { id: "test", role: "admin" } as const;

async function openStream(
  { server, socket }: TestServer,
  token: string,
  credentials = `Authorization: Bearer ${token}`,
) {
  const stream = socket();
  stream.on("error", () => undefined);
  stream.write(
    `GET /api/v1/events HTTP/1.1\r\nHost: 127.0.0.1:${server.port}\r\n${credentials}\r\n\r\n`,
  );
  await once(stream, "data");
  const closed = once(stream, "close");
  stream.resume();
  return { closed, isOpen: () => !stream.destroyed };
}

describe("an answer that goes on", () => {
  it("ends when its token is revoked, runs out or is replaced, and no other one does", async () => {
    await using http = await openServer({ events: silent, accessCheckMs: 50 });
    const { tokens } = http;
    const make = async (name: string, expiresAt: number | null = null) =>
      (await tokens.create({ name, role: "viewer", expiresAt }, admin)).token;
    const kept = await openStream(http, await make("kept"));
    const revoked = await openStream(http, await make("revoked"));
    const expiring = await openStream(http, await make("expiring", Date.now() + 60_000));
    const own = await openStream(http, http.token);
    await tokens.revoke("revoked", admin);
    await revoked.closed;
    expect(expiring.isOpen()).toBe(true);
    http.forward(60_000);
    await expiring.closed;
    expect(own.isOpen()).toBe(true);
    rotateInstallationToken(join(http.engine.home, "tokens", "local"));
    await own.closed;
    expect(kept.isOpen()).toBe(true);
  });

  it("ends when its holder has less to their name by now", async () => {
    await using http = await openServer({ events: silent, accessCheckMs: 50 });
    const { store } = http.engine;
    const { token } = await http.tokens.create({ name: "board", role: "operator" }, admin);
    const stream = await openStream(http, token);
    const record = await store.readRecord("access-token", "board");
    const value = { ...(record?.value as object), role: "viewer" };
    const expectedVersion = record?.version ?? 0;
    const change = { resourceType: "access-token", resourceId: "board", expectedVersion, value };
    await store.changeRecords([change], "test");
    await stream.closed;
  });

  it("ends with the session of the page that it was for", async () => {
    await using http = await openServer({ events: silent, accessCheckMs: 50 });
    const { pages, port, url } = http.server;
    const session = await beginPage(pages, http.token);
    const cookie = `Cookie: mandate-page-${port}=${session}\r\nOrigin: ${url}`;
    const stream = await openStream(http, http.token, cookie);
    const other = await openStream(http, http.token);
    const headers = {
      authorization: undefined,
      cookie: cookie.slice(8).split("\r")[0],
      origin: url,
    };
    await http.send({ method: "DELETE", path: "/api/v1/page-session", headers });
    await stream.closed;
    expect(other.isOpen()).toBe(true);
  });
});
