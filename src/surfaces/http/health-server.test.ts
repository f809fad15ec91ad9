import { request } from "node:http";
import { expect, it } from "vitest";
import { ManualClock } from "../../testing/manual-clock.ts";
import { until } from "../../testing/until.ts";
import { type HealthServerOptions, startHealthServer } from "./health-server.ts";

interface Reply {
  readonly status: number;
  readonly body: string;
  readonly type: string | undefined;
}

function ask(port: number, path: string, method = "GET", headers = {}): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const sent = request({ host: "127.0.0.1", port, path, method, headers }, (response) => {
      let body = "";
      response.on("data", (chunk) => (body += String(chunk)));
      response.on("end", () => {
        const { headers: given, statusCode = 0 } = response;
        resolve({ status: statusCode, body, type: given["content-type"] });
      });
    });
    sent.on("error", reject);
    sent.end();
  });
}

async function open(options: Partial<HealthServerOptions> = {}) {
  const server = await startHealthServer({
    port: 0,
    clock: new ManualClock(),
    stores: [{ readRecord: async () => undefined }],
    isStopping: () => false,
    metrics: async (format) => `${format}\n`,
    ...options,
  });
  return Object.assign(server, {
    ask: (path: string, method?: string, headers?: object) =>
      ask(server.port, path, method, headers),
    [Symbol.asyncDispose]: () => server.close(),
  });
}

it("answers probes and scrapers without a token, and every other path with 404", async () => {
  await using server = await open();
  expect(await server.ask("/healthz")).toMatchObject({ status: 200, body: '{"status":"alive"}' });
  expect(await server.ask("/readyz?x=1")).toMatchObject({
    status: 200,
    body: '{"status":"ready"}',
  });
  expect(await server.ask("/metrics")).toMatchObject({ status: 200, body: "text\n" });
  const accept = "application/openmetrics-text; version=1.0.0";
  const scraped = await server.ask("/metrics", "GET", { accept });
  expect([scraped.body, scraped.type]).toEqual([
    "openmetrics\n",
    "application/openmetrics-text; version=1.0.0; charset=utf-8",
  ]);
  for (const path of ["/", "/api/v1/health", "/healthz/", "/metrics/x", "/livez"]) {
    expect([path, (await server.ask(path)).status]).toEqual([path, 404]);
  }
  expect((await server.ask("/healthz", "POST")).status).toBe(405);
  expect(await server.ask("/readyz", "HEAD")).toMatchObject({ status: 200, body: "" });
});

it("is not ready while it stops, or while a database refuses or does not answer", async () => {
  let isStopping = false;
  let answer: () => Promise<undefined> = async () => undefined;
  const clock = new ManualClock();
  const stores = [{ readRecord: () => answer() }];
  await using server = await open({ clock, stores, isStopping: () => isStopping });
  const reasonOf = async () => JSON.parse((await server.ask("/readyz")).body)["reason"];

  answer = () => Promise.reject(new Error("the password is secret"));
  expect(await server.ask("/readyz")).toMatchObject({ status: 503 });
  expect(await reasonOf()).toBe("database_error");

  const hanging = Promise.withResolvers<undefined>();
  let asked = 0;
  answer = () => {
    asked++;
    return hanging.promise;
  };
  const probes = Promise.all([reasonOf(), reasonOf()]);
  while (asked === 0) await new Promise((resolve) => setImmediate(resolve));
  let reasons: readonly unknown[] | undefined;
  void probes.then((found) => (reasons = found));
  while (reasons === undefined) {
    clock.advance(2000);
    await new Promise((resolve) => setImmediate(resolve));
  }
  // However many probes wait, the database is asked once.
  expect([reasons, asked]).toEqual([["database_timeout", "database_timeout"], 1]);
  expect(await server.ask("/healthz")).toMatchObject({ status: 200 });
  hanging.resolve(undefined);

  answer = async () => undefined;
  expect(await server.ask("/readyz")).toMatchObject({ status: 200 });
  isStopping = true;
  expect(await reasonOf()).toBe("stopping");
});

it("answers no page of another site on loopback, and says when its port is taken", async () => {
  await using server = await open();
  const rebound = await server.ask("/metrics", "GET", { host: "evil.example" });
  expect([rebound.status, rebound.body]).toEqual([403, '{"status":"refused"}']);
  // An operator who opens the port to others has given it names.
  await using opened = await open({ hostname: "0.0.0.0" });
  const named = await opened.ask("/metrics", "GET", { host: "mandate-health.default.svc" });
  expect(named.status).toBe(200);
  await expect(open({ port: server.port })).rejects.toThrow(
    `Port ${server.port} is already in use. Choose another port with --health.`,
  );
});

it("collects the metrics once for all who ask for them at the same time", async () => {
  let collected = 0;
  const mayAnswer = Promise.withResolvers<void>();
  await using server = await open({
    async metrics(format) {
      collected++;
      await mayAnswer.promise;
      return `${format}\n`;
    },
  });
  const scrapes = Array.from({ length: 20 }, () => server.ask("/metrics"));
  await until("a scrape has begun", () => collected > 0);
  // Answered by a connection that came after the others.
  expect(await server.ask("/healthz")).toMatchObject({ status: 200 });
  mayAnswer.resolve();
  const statuses = (await Promise.all(scrapes)).map(({ status }) => status);
  expect(statuses).toEqual(Array(20).fill(200));
  const before = collected;
  expect(before).toBeLessThan(20);
  await server.ask("/metrics");
  expect(collected).toBe(before + 1);
});
