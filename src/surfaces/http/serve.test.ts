import { describe, expect, it } from "vitest";
import { until } from "../../testing/until.ts";
import type { Mount, MountContext } from "./mount.ts";
import { startServer } from "./serve.ts";
import {
  counted,
  holdRequests,
  json,
  openServer,
  readAll,
  sendLarge,
} from "./server.test-support.ts";

const slow = JSON.stringify({ name: "slow", isHeld: true });

describe("a server that stops", () => {
  it("lets what is being answered end, and takes nothing new", async () => {
    await using http = await openServer();
    const held = holdRequests();
    counted.times = 0;
    const running = http.send({
      method: "POST",
      path: "/api/v1/things",
      headers: json,
      body: slow,
    });
    await until("it is being answered", () => counted.times === 1);
    const closing = http.server.close(30_000);
    const late = await http.send({ path: "/api/v1/things" }).then(
      ({ status }) => status,
      () => "refused",
    );
    expect(late).not.toBe(200);
    held.release();
    expect((await running).status).toBe(201);
    await closing;
    await expect(http.send({ path: "/api/v1/things" })).rejects.toThrow();
  });

  it("does not wait longer than its grace", async () => {
    let isAsked = false;
    const metrics: Mount = () => {
      isAsked = true;
      return new Promise(() => undefined);
    };
    await using http = await openServer({ metrics });
    const hanging = http.send({ path: "/metrics" }).catch(() => "cut");
    await until("it is being answered", () => isAsked);
    await http.server.close(100);
    expect(await hanging).toBe("cut");
  });

  it("says why it cannot begin", async () => {
    await using http = await openServer();
    const { engine, tokens, server } = http;
    const host = { runtime: engine, tokens, workspaces: [], startedAt: 0 };
    await expect(startServer({ host, port: server.port, routes: [] })).rejects.toThrow(
      /Port \d+ is already in use\. Choose another port with --port/,
    );
  });
});

describe("what is mounted", () => {
  it("is given who asks, the parameters, the connection, and a signal for its end", async () => {
    const seen: { principal: string; context: MountContext }[] = [];
    const events: Mount = async (_request, principal, context) => {
      seen.push({ principal: principal.id, context });
      context.outgoing?.writeHead(200, { "content-type": "text/event-stream" });
      context.outgoing?.write("data: 1\n\n");
      return new Response(null, { headers: { "x-hono-already-sent": "true" } });
    };
    await using http = await openServer({ events });
    const open = async (path: string) => {
      const socket = http.socket();
      socket.write(
        `GET ${path} HTTP/1.1\r\nHost: localhost:${http.server.port}\r\nAuthorization: Bearer ${http.token}\r\n\r\n`,
      );
      const text = await new Promise<string>((resolve) => {
        socket.once("data", (chunk) => resolve(String(chunk)));
      });
      return { socket, text };
    };
    const one = await open("/api/v1/events");
    expect(one.text).toMatch(/^HTTP\/1\.1 200 OK.*nosniff.*data: 1/s);
    const two = await open("/api/v1/runs/rabc123/events");
    expect(seen.map(({ principal, context }) => [principal, context.params])).toEqual([
      ["local", {}],
      ["local", { runId: "rabc123" }],
    ]);
    const [first, second] = seen.map(({ context }) => context.signal);
    one.socket.destroy();
    await new Promise((resolve) => first?.addEventListener("abort", resolve));
    expect(second?.aborted).toBe(false);
    void http.server.close(50);
    expect(second?.aborted).toBe(true);
    await readAll(two.socket);
  });

  it("shares its address with a list, for whoever does not ask for a stream", async () => {
    const events: Mount = async () => new Response("a stream");
    const { testRoutes } = await import("./server.test-support.ts");
    const [list] = testRoutes;
    if (list === undefined) throw new Error("there are no routes");
    const listing = { ...list, id: "listEvents", path: "/runs/:runId/events" };
    await using http = await openServer({ events, routes: [listing] });
    const get = async (path: string, accept: string) =>
      (await http.send({ path, headers: { accept } })).text;
    expect(await get("/api/v1/runs/r1/events", "application/json")).toBe('{"query":{}}');
    expect(await get("/api/v1/runs/r1/events", "*/*")).toBe('{"query":{}}');
    expect(await get("/api/v1/runs/r1/events", "text/event-stream")).toBe("a stream");
    expect(await get("/api/v1/runs/r1/events", "text/event-stream, */*;q=0.1")).toBe("a stream");
    expect(await get("/api/v1/events", "*/*")).toBe("a stream");
  });

  it("at /mcp gets the whole body, of four megabytes at most, in all three methods", async () => {
    const mcp: Mount = async (request, { id }) =>
      new Response(`${request.method} ${(await request.text()).length} for ${id}`);
    await using http = await openServer({ mcp });
    const send = async (method: string, bytes?: number) => {
      const body = bytes === undefined ? {} : { headers: json, body: "x".repeat(bytes) };
      const { status, text } = await sendLarge(http, { method, path: "/mcp", ...body });
      return status === 200 ? text : status;
    };
    expect(await send("POST", 2_000_000)).toBe("POST 2000000 for local");
    expect(await send("POST", 4 * 1024 * 1024 + 1)).toBe(413);
    expect(await send("GET")).toBe("GET 0 for local");
    expect(await send("DELETE")).toBe("DELETE 0 for local");
    expect(await send("PUT", 1)).toBe(405);
  });
});
