import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { Message, Model, ModelUsage } from "../ports/model.ts";
import { exampleRequest } from "./example-request.test-support.ts";
import { createModelRegistry } from "./model-registry.ts";
import { TokenCounter } from "./token-counter.ts";
import { protocols } from "./wire-protocols.test-support.ts";
import { sendEvents, startWireServer, type WireServer } from "./wire-server.test-support.ts";

let server: WireServer;
beforeAll(async () => {
  server = await startWireServer();
});
afterAll(() => server.close());
afterEach(() => {
  server.bodies.length = 0;
  server.counts.length = 0;
  delete server.count;
});

function resolve(name: string): Model {
  const { url } = server;
  return createModelRegistry({
    environment: {
      ANTHROPIC_API_KEY: "key-anthropic",
      ANTHROPIC_BASE_URL: url,
      GOOGLE_GENERATIVE_AI_API_KEY: "key-google",
      GOOGLE_GENERATIVE_AI_BASE_URL: url,
      OPENAI_API_KEY: "key-openai",
      OPENAI_BASE_URL: `${url}/v1`,
    },
    config: { providers: { local: { kind: "openai-compatible", baseUrl: `${url}/v1` } } },
  }).resolve(name);
}

const tools = [{ name: "grep", description: "runs grep", parameters: { type: "object" } }];
const said = "Look for it in all of the files. ".repeat(40);

function promptFor(model: string, more: object = {}) {
  const messages: Message[] = [{ role: "user", text: said }];
  const { caller: _, ...request } = exampleRequest({ model, system: "Be brief.", messages, tools });
  return { ...request, counted: null, ...more };
}

function answerCount(body: object): void {
  server.count = (response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify(body));
  };
}

describe.each([
  ["anthropic/claude-sonnet-4-5", "/v1/messages/count_tokens", { input_tokens: 1000 }],
  ["google/gemini-2.5-flash", "/v1beta/models/gemini-2.5-flash:countTokens", { totalTokens: 1000 }],
  ["openai/gpt-4.1", "/v1/responses/input_tokens", { input_tokens: 1000 }],
])("%s", (name, path, answer) => {
  test("is counted by its provider, with all that would be sent and nothing that is not counted", async () => {
    answerCount(answer);
    expect(await resolve(name).countTokens?.(promptFor(name))).toBe(1020);
    expect(server.bodies).toEqual([]);
    expect(server.counts.map((each) => each.path)).toEqual([path]);
    const { body = "" } = server.counts[0] ?? {};
    for (const part of ["Be brief.", said, "runs grep"]) expect(body).toContain(part);
    if (!name.startsWith("google/")) expect(body).not.toMatch(/"(?:max_\w*tokens|stream|store)"/);
  });

  test("is estimated where the provider does not count, and not asked for it again", async () => {
    const model = resolve(name);
    const estimates = [
      await model.countTokens?.(promptFor(name)),
      await model.countTokens?.(promptFor(name)),
    ];
    expect(server.counts).toHaveLength(1);
    expect(estimates[0]).toBe(estimates[1]);
    expect(estimates[0]).toBeGreaterThan(200);
    expect(estimates[0]).toBeLessThan(said.length);
  });

  test.each([
    ["a count that is none", { input_tokens: -1, totalTokens: "many" }],
    ["no count", {}],
  ])("is estimated after %s", async (_what, body) => {
    answerCount(body);
    expect(await resolve(name).countTokens?.(promptFor(name))).toBeGreaterThan(200);
  });

  test("is asked again after a server in trouble", async () => {
    server.count = (response) => response.writeHead(503).end();
    const model = resolve(name);
    await model.countTokens?.(promptFor(name));
    answerCount(answer);
    expect(await model.countTokens?.(promptFor(name))).toBe(1020);
  });

  test("counts more from then on, when its provider reports more than it counted", async () => {
    answerCount({ input_tokens: 6, totalTokens: 6 });
    const model = resolve(name);
    const prompt = promptFor(name);
    expect(await model.countTokens?.(prompt)).toBe(7);
    server.answer = (response) => sendEvents(response, protocols[name]?.({ text: "ok" }) ?? []);
    // It reports nine.
    await model({ ...exampleRequest({ model: name }), messages: prompt.messages }, () => {});
    answerCount({ input_tokens: 1000, totalTokens: 1000 });
    expect(await model.countTokens?.(prompt)).toBe(1530);
  });
});

test("a model of a provider that has no such endpoint is estimated without a request", async () => {
  for (const name of ["openai-chat/gpt-4.1", "local/qwen"]) {
    const tokens = await resolve(name).countTokens?.(promptFor(name));
    expect(tokens).toBeGreaterThan(200);
    expect(tokens).toBeLessThan(said.length);
  }
  expect([...server.counts, ...server.bodies]).toEqual([]);
});

test("only what was said since the last report is estimated", async () => {
  const since: Message[] = [{ role: "user", text: "and then?" }];
  const counted = { tokens: 5000, since };
  const tokens = await resolve("local/qwen").countTokens?.(promptFor("local/qwen", { counted }));
  expect(tokens).toBeGreaterThan(5000);
  expect(tokens).toBeLessThan(5200);
});

test("an estimate is only ever raised", async () => {
  const settings = {
    provider: "x",
    kind: "openai-compatible",
    baseUrl: "",
    apiKey: "",
    headers: {},
  };
  const counter = new TokenCounter({ ...settings, kind: "openai-compatible" }, "qwen3", fetch);
  const usage = (prompt: number): ModelUsage => ({ prompt, completion: 1 });
  const prompt = promptFor("x/qwen3");
  const bounds: number[] = [];
  for (const reported of [10, 2000, 50, null, 1000]) {
    bounds.push((await counter.count(prompt)) ?? 0);
    counter.learn(prompt.messages, reported === null ? null : usage(reported));
  }
  const [first, second, third, ...rest] = bounds;
  expect(second).toBe(first);
  expect(third).toBeGreaterThan(2000);
  expect(rest).toEqual([third, third]);
});
