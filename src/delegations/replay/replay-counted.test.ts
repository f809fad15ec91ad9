import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { protocols } from "../../models/wire-protocols.test-support.ts";
import {
  sendEvents,
  startWireServer,
  type WireServer,
} from "../../models/wire-server.test-support.ts";
import type { Model } from "../../ports/model.ts";
import { ofType, openEngine, testProfile } from "../../testing/engine-fixture.ts";
import { replayAgain } from "./replay-again.test-support.ts";

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

/** About six kilobytes, as a profile and the schemas of its tools have them. */
const prompt = "You look things up and answer in a sentence. Say where you found it. ".repeat(60);

function openWith(model: string, system = prompt) {
  server.answer = (response) =>
    sendEvents(response, protocols[model]?.({ text: "All is well." }) ?? []);
  return openEngine({
    profiles: [testProfile("small", { prompt: system, tools: ["read_file"], model: { model } })],
    environment: { ANTHROPIC_API_KEY: "key", ANTHROPIC_BASE_URL: server.url },
    config: {
      models: {
        providers: { local: { kind: "openai-compatible", baseUrl: `${server.url}/v1` } },
        prices: {},
        pools: {},
      },
    },
  });
}

const request = { task: "look", profile: "small" };

describe("a budget of 2,000 tokens", () => {
  it("is enough for a small profile whose provider counts its prompt", async () => {
    server.count = (response) => response.end('{"input_tokens":700}');
    await using mandate = await openWith("anthropic/claude-sonnet-4-5");
    const { events, result, runId } = await mandate.run({ ...request, maxTokens: 2000 });
    expect(result).toMatchObject({ status: "completed", result: "All is well." });
    expect(result.truncated).toBeUndefined();
    const [reserved] = ofType(events, "agent.budget_reserved");
    expect(reserved?.payload.prompt).toBe(714);
    expect(reserved?.payload.tokens).toBeLessThanOrEqual(2000);
    expect(server.counts).toHaveLength(1);
    expect((await replayAgain(mandate.store, runId)).differences).toEqual([]);
  });

  it("is enough for an answer where the prompt can only be estimated", async () => {
    const half = prompt.slice(0, prompt.length / 2);
    await using mandate = await openWith("local/qwen", half);
    const { events, runId } = await mandate.run({ ...request, maxTokens: 2000 });
    const [reserved] = ofType(events, "agent.budget_reserved");
    expect(reserved?.payload.prompt).toBeLessThan(2000);
    expect(reserved?.payload.prompt).toBeGreaterThan(half.length / 4);
    expect(server.bodies).toHaveLength(1);
    expect((await replayAgain(mandate.store, runId)).differences).toEqual([]);
  });

  it("buys one answer with a short prompt where nothing but bytes bounds the prompt", async () => {
    const systems: string[] = [];
    const model: Model = async ({ model: served, system }) => {
      systems.push(system);
      const usage = { prompt: 90, completion: 5 };
      return { text: "done", calls: [], finish: "stop", served, usage };
    };
    await using mandate = await openEngine({
      profiles: [testProfile("small", { prompt, tools: ["read_file"], model: { model: "own/m" } })],
      models: { own: model },
    });
    const { result, runId } = await mandate.run({ ...request, maxTokens: 2000 });
    expect(result).toMatchObject({ status: "completed", result: "done" });
    expect(systems).toEqual([
      expect.stringMatching(/^You look things up[\s\S]*room for one short/),
    ]);
    expect((await replayAgain(mandate.store, runId)).differences).toEqual([]);
  });
});

it("asks no provider to count where the bytes fit", async () => {
  server.count = (response) => response.end('{"input_tokens":700}');
  await using mandate = await openWith("anthropic/claude-sonnet-4-5");
  const { result } = await mandate.run({ ...request, maxTokens: 60_000 });
  expect(result.status).toBe("completed");
  expect(server.counts).toEqual([]);
});

it.each([
  ["fails", () => Promise.reject(new Error("no"))],
  ["is no number", () => Promise.resolve(Number.NaN)],
  ["is negative", () => Promise.resolve(-5)],
  ["is more than the bytes", () => Promise.resolve(1_000_000)],
])("a count that %s leaves the bound of bytes", async (_what, countTokens) => {
  const answer: Model = async (asked) => ({
    ...{ text: "done", calls: [], finish: "stop", served: asked.model },
    usage: { prompt: 900, completion: 5 },
  });
  await using mandate = await openEngine({
    profiles: [testProfile("small", { prompt, tools: [], model: { model: "own/m" } })],
    models: { own: Object.assign(answer, { countTokens }) },
  });
  const { events, result } = await mandate.run({ ...request, maxTokens: 6000 });
  expect(result).toMatchObject({ status: "completed", truncated: true });
  const [reserved] = ofType(events, "agent.budget_reserved");
  expect(reserved?.payload.prompt).toBeGreaterThan(prompt.length);
});
