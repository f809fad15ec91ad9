import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { expect, it, onTestFinished } from "vitest";
import type { Principal } from "../../../control/records/principal.ts";
import { openEngine, type TestEngine } from "../../../testing/engine-fixture.ts";
import { until } from "../../../testing/until.ts";
import { call, initialize, post } from "./raw-client.test-support.ts";
import { serveMandate } from "./serve-mandate.ts";
import { StoredSessions } from "./stored-sessions.ts";

const ping = call(1, "ping");

/** A server of the engine's database; the token is the principal's name, with a role after a slash. */
async function serve(engine: TestEngine): Promise<string> {
  const handler = serveMandate({ runtime: engine, workspaces: [engine.workspace] });
  const principalOf = (request: Request): Principal => {
    const token = request.headers.get("authorization")?.replace("Bearer ", "") ?? "";
    const [id = "", role = "operator"] = token.split("/");
    return { id, role: role === "viewer" ? "viewer" : "operator" };
  };
  const listener = getRequestListener((request) => handler.handle(request, principalOf(request)), {
    overrideGlobalObjects: false,
  });
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    await handler.close();
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
}

async function twoServers(engine: TestEngine): Promise<readonly [string, string]> {
  const other = await engine.another({ model: () => "done" });
  return [await serve(engine), await serve(other)];
}

it("a session is its principal's at every server, until one of them is told to end it", async () => {
  await using engine = await openEngine({ model: () => "done" });
  const [first, second] = await twoServers(engine);
  const headers = await initialize({ url: first });
  expect((await post({ url: second, headers }, ping)).status).toBe(200);
  expect((await post({ url: second, token: "bob", headers }, ping)).status).toBe(404);
  expect((await post({ url: second, token: "alice/viewer", headers }, ping)).status).toBe(404);
  const sent = { ...headers, authorization: "Bearer alice" };
  expect((await fetch(second, { method: "DELETE", headers: sent })).status).toBe(200);
  expect((await post({ url: first, headers }, ping)).status).toBe(404);
  expect((await post({ url: second, headers }, ping)).status).toBe(404);
});

it("another server tells of the resources that a client has subscribed to", async () => {
  await using engine = await openEngine({ model: () => "done" });
  const [first, second] = await twoServers(engine);
  const { runId } = await engine.run({ task: "before", profile: "researcher" });
  await engine.engine.resultOf(runId);
  const headers = await initialize({ url: first, token: "alice/viewer" });
  const uri = "mandate://profiles";
  const at = { url: first, token: "alice/viewer", headers };
  await post(at, call(1, "resources/subscribe", { uri }));
  // A stream of the first server cannot be resumed, and begins anew.
  const stream = await fetch(second, {
    headers: {
      ...headers,
      authorization: "Bearer alice/viewer",
      accept: "text/event-stream",
      "last-event-id": "of another server",
    },
  });
  expect(stream.status).toBe(200);
  // The server follows changes from the first request that needs the runtime.
  await post({ ...at, url: second }, call(2, "tools/list"));
  const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader();
  const admin = { id: "admin", role: "admin" } as const;
  const change = { resourceType: "pin", resourceId: "global", expectedVersion: 0, value: {} };
  await engine.store.changeRecords([change], admin.id);
  let heard = "";
  await until("it tells", async () => {
    heard += (await reader?.read())?.value ?? "";
    return heard.includes("notifications/resources/updated");
  });
  expect(heard).toContain(uri);
  await reader?.cancel();
});

it("is forgotten twelve hours after its last use, and the oldest gives way to a new one", async () => {
  await using engine = await openEngine({ model: () => "done" });
  let now = 1_000_000;
  const stored = new StoredSessions(engine.store, () => now);
  const alice = { id: "alice", role: "operator" } as const;
  const hours = 3_600_000;
  await stored.at(alice, "one").begin({});
  now += 7 * hours;
  expect(await stored.at(alice, "one").refresh()).toBeDefined();
  now += 11 * hours;
  expect(await stored.at(alice, "one").refresh()).toBeDefined();
  now += 13 * hours;
  expect(await stored.at(alice, "one").refresh()).toBeUndefined();
  for (let count = 0; count < 257; count++) {
    now++;
    await stored.at(alice, `more ${count}`).begin({});
  }
  expect(await stored.at(alice, "more 0").refresh()).toBeUndefined();
  expect(await stored.at(alice, "more 1").refresh()).toBeDefined();
  expect(await engine.store.listRecords("mcp-session")).toHaveLength(256);
});
