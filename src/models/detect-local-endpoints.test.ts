import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { ManualClock } from "../testing/manual-clock.ts";
import { detectLocalEndpoints } from "./detect-local-endpoints.ts";

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

async function start(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Nothing is looked for where servers usually listen: this machine may have some. */
async function detect(environment: Record<string, string>, clock = new ManualClock()) {
  const nowhere = "http://127.0.0.1:1";
  return detectLocalEndpoints(
    {
      OLLAMA_HOST: nowhere,
      LMSTUDIO_BASE_URL: nowhere,
      LLAMACPP_BASE_URL: nowhere,
      VLLM_BASE_URL: nowhere,
      ...environment,
    },
    { clock, timeoutMs: 200 },
  );
}

test("servers that list models are found, each by its own variable, and get no key", async () => {
  const asked: unknown[] = [];
  const url = await start((request, response) => {
    asked.push([request.url, request.headers.authorization]);
    response.end(JSON.stringify({ object: "list", data: [{ id: "qwen3:8b" }, { id: "org/m" }] }));
  });
  const found = await detect({ OLLAMA_HOST: url, VLLM_BASE_URL: url, VLLM_API_KEY: "secret" });
  const models = ["qwen3:8b", "org/m"];
  expect(found).toEqual([
    { provider: "ollama", baseUrl: `${url}/v1`, models },
    { provider: "vllm", baseUrl: `${url}/v1`, models },
  ]);
  expect(asked).toEqual([
    ["/v1/models", undefined],
    ["/v1/models", undefined],
  ]);
});

test("nobody there is nothing found", async () => {
  expect(await detect({})).toEqual([]);
});

test.each<[string, RequestListener]>([
  ["an error", (_, response) => response.writeHead(404).end("{}")],
  ["a page", (_, response) => response.end("<html>")],
  ["JSON of another kind", (_, response) => response.end('{"data":"none"}')],
  ["null", (_, response) => response.end("null")],
  ["a cut answer", (_, response) => response.writeHead(200, { "content-length": 9 }).destroy()],
  ["an endless answer", (_, response) => response.end(`{"data":["${"x".repeat(300_000)}"]}`)],
  ["a way elsewhere", (_, response) => response.writeHead(302, { location: "/v1/models" }).end()],
])("what answers with %s is no model server", async (_, listener) => {
  expect(await detect({ LLAMACPP_BASE_URL: await start(listener) })).toEqual([]);
});

test("what answers with nothing at all is no model server", async () => {
  const clock = new ManualClock();
  const asked = Promise.withResolvers<void>();
  const found = detect({ LLAMACPP_BASE_URL: await start(() => asked.resolve()) }, clock);
  await asked.promise;
  await clock.advance(200);
  expect(await found).toEqual([]);
});

test("names that are none are not repeated, and there is an end to them", async () => {
  const ids = ["ok", "$(rm -rf /)", "two words", "\u001b[31m", 7, null, "x".repeat(300)];
  const many = Array.from({ length: 500 }, (_, index) => `m${index}`);
  const data = [...ids, ...many].map((id) => ({ id }));
  const url = await start((_, response) => response.end(JSON.stringify({ data })));
  const [endpoint] = await detect({ LMSTUDIO_BASE_URL: url });
  expect(endpoint?.models.slice(0, 2)).toEqual(["ok", "m0"]);
  expect(endpoint?.models).toHaveLength(50);
});

test("an address that is none is passed over", async () => {
  expect(await detect({ OLLAMA_HOST: "http://" })).toEqual([]);
});
