/** What temperature, top-p and effort become on the wire, through the providers' own clients. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Effort } from "../ports/model.ts";
import { exampleRequest } from "./example-request.test-support.ts";
import { createModelRegistry } from "./model-registry.ts";
import { protocols } from "./wire-protocols.test-support.ts";
import { sendEvents, startWireServer, type WireServer } from "./wire-server.test-support.ts";

let server: WireServer;
beforeAll(async () => {
  server = await startWireServer();
});
afterAll(() => server.close());
beforeEach(() => {
  server.bodies.length = 0;
});

const kinds: Record<string, string> = {
  anthropic: "anthropic/claude-sonnet-4-5",
  google: "google/gemini-2.5-flash",
  openai: "openai/gpt-4.1",
  "openai-chat": "openai-chat/gpt-4.1",
  local: "local/qwen",
};

function resolve(name: string) {
  return createModelRegistry({
    environment: {
      ANTHROPIC_API_KEY: "k",
      ANTHROPIC_BASE_URL: server.url,
      GOOGLE_GENERATIVE_AI_API_KEY: "k",
      GOOGLE_GENERATIVE_AI_BASE_URL: server.url,
      OPENAI_API_KEY: "k",
      OPENAI_BASE_URL: `${server.url}/v1`,
    },
    config: { providers: { local: { kind: "openai-compatible", baseUrl: `${server.url}/v1` } } },
  }).resolve(name);
}

interface Settings {
  readonly temperature?: number;
  readonly topP?: number;
  readonly effort?: Effort;
  readonly maxOutputTokens?: number;
}

async function sentFor(name: string, settings: Settings) {
  const events = protocols[kinds[name.slice(0, name.indexOf("/"))] ?? ""]?.({ text: "x" }) ?? [];
  server.answer = (response) => sendEvents(response, events);
  await resolve(name)(exampleRequest({ model: name, ...settings }), () => {});
  expect(server.bodies).toHaveLength(1);
  return JSON.parse(server.bodies.at(-1) ?? "");
}

describe("temperature and top-p", () => {
  test.each(["openai/gpt-4.1", "openai-chat/gpt-4.1", "local/qwen"])(
    "%s takes both",
    async (name) => {
      const sent = await sentFor(name, { temperature: 0.3, topP: 0.9 });
      expect(sent).toMatchObject({ temperature: 0.3, top_p: 0.9 });
    },
  );

  test("Gemini takes both", async () => {
    const { generationConfig } = await sentFor("google/gemini-3.8-flash", {
      temperature: 0.3,
      topP: 0.9,
    });
    expect(generationConfig).toMatchObject({ temperature: 0.3, topP: 0.9 });
  });

  test("older Claude models take one of them, at most 1", async () => {
    const sent = await sentFor("anthropic/claude-sonnet-4-5", { temperature: 1.7, topP: 0.9 });
    expect(sent).toMatchObject({ temperature: 1 });
    expect(sent).not.toHaveProperty("top_p");
  });

  test.each([
    "anthropic/claude-sonnet-5-5",
    "anthropic/claude-opus-4-8",
    "openai/gpt-6.1-sol",
    "openai/gpt-5",
    "openai/o3",
    "openai-chat/gpt-6-sol",
  ])("%s refuses them, so they are left out", async (name) => {
    const sent = await sentFor(name, { temperature: 0.3, topP: 0.9 });
    expect(sent).not.toHaveProperty("temperature");
    expect(sent).not.toHaveProperty("top_p");
  });
});

describe("effort", () => {
  test.each<[string, Effort, string | undefined]>([
    ["openai/gpt-6.1-sol", "high", "high"],
    ["openai/gpt-6.1-sol", "none", "low"],
    ["openai/gpt-6-luna", "none", "none"],
    ["openai/gpt-5", "xhigh", "high"],
    ["openai/gpt-5", "minimal", "minimal"],
    ["openai/o3", "none", "low"],
    ["openai/gpt-4.1", "high", undefined],
  ])("%s at %s is asked for %s", async (name, effort, expected) => {
    const sent = await sentFor(name, { effort });
    expect(sent.reasoning?.effort).toBe(expected);
    expect(sent.store).toBe(false);
  });

  test.each<[string, Effort, string | undefined]>([
    ["openai-chat/gpt-5", "high", "high"],
    ["openai-chat/gpt-4.1", "high", undefined],
    ["local/qwen", "xhigh", "high"],
    ["local/qwen", "none", "none"],
  ])("%s at %s is asked for %s", async (name, effort, expected) => {
    expect((await sentFor(name, { effort })).reasoning_effort).toBe(expected);
  });

  test.each<[Effort, string | undefined]>([
    ["minimal", "low"],
    ["high", "high"],
    ["xhigh", "xhigh"],
  ])("a new Claude model at %s thinks as it sees fit, at %s", async (effort, expected) => {
    const sent = await sentFor("anthropic/claude-opus-5-5", { effort });
    expect(sent.output_config).toEqual({ effort: expected });
    expect(sent.thinking).toMatchObject({ type: "adaptive", display: "summarized" });
  });

  test("Claude models that think anyway are asked to be heard thinking", async () => {
    const sent = await sentFor("anthropic/claude-sonnet-5-5", {});
    expect(sent).not.toHaveProperty("output_config");
    expect(sent.thinking).toEqual({
      type: "adaptive",
      display: "summarized",
      block_binding: { prefix_mismatch_behavior: "drop_block" },
    });
    server.bodies.length = 0;
    const least = await sentFor("anthropic/claude-sonnet-5-5", { effort: "none" });
    expect(least.thinking).toEqual({ type: "between_tools" });
  });

  test("an older Claude model thinks within the tokens of its answer, not on top of them", async () => {
    const settings = { effort: "high", maxOutputTokens: 8000, temperature: 0.5 } as const;
    const sent = await sentFor("anthropic/claude-sonnet-4-5", settings);
    expect(sent.max_tokens).toBe(8000);
    expect(sent.thinking).toEqual({ type: "enabled", budget_tokens: 4800 });
    expect(sent).not.toHaveProperty("temperature");
    server.bodies.length = 0;
    const small = await sentFor("anthropic/claude-sonnet-4-5", {
      effort: "high",
      maxOutputTokens: 1500,
    });
    expect(small.max_tokens).toBe(1500);
    expect(small).not.toHaveProperty("thinking");
  });

  test("what merely speaks Anthropic's protocol is not told to think", async () => {
    const sent = await sentFor("anthropic/minimax-m9", { effort: "high" });
    expect(sent).not.toHaveProperty("thinking");
    expect(sent).not.toHaveProperty("output_config");
  });

  test.each<[string, Effort, object | undefined]>([
    ["google/gemini-3.8-flash", "minimal", { thinkingLevel: "low" }],
    ["google/gemini-3.5-flash", "none", { thinkingLevel: "minimal" }],
    ["google/gemini-3.1-pro-preview", "none", { thinkingLevel: "low" }],
    ["google/gemini-4-argon", "xhigh", { thinkingLevel: "high" }],
    ["google/gemini-2.5-flash", "none", { thinkingBudget: 0 }],
    ["google/gemini-2.5-flash", "high", { thinkingBudget: 600 }],
    ["google/gemini-2.5-pro", "none", { thinkingBudget: 128 }],
    ["google/gemma-3-27b-it", "high", undefined],
  ])("%s at %s gets %j", async (name, effort, expected) => {
    const { generationConfig } = await sentFor(name, { effort, maxOutputTokens: 1000 });
    expect(generationConfig.thinkingConfig).toEqual(expected);
    expect(generationConfig.maxOutputTokens).toBe(1000);
  });
});

describe("a setting that a model refuses", () => {
  const json = { "content-type": "application/json" };

  test("is left out when asked again, and from then on", async () => {
    const events = protocols["local/qwen"]?.({ text: "x" }) ?? [];
    server.answer = (response) => {
      if (!/reasoning_effort|temperature/.test(server.bodies.at(-1) ?? "")) {
        sendEvents(response, events);
        return;
      }
      const error = { message: '"qwen" does not support thinking', type: "invalid_request_error" };
      response.writeHead(400, json).end(JSON.stringify({ error }));
    };
    const model = resolve("local/qwen");
    const request = exampleRequest({ model: "local/qwen", effort: "high", temperature: 0.2 });
    expect((await model(request, () => {})).text).toBe("x");
    expect(server.bodies).toHaveLength(2);
    expect((await model(request, () => {})).text).toBe("x");
    expect(server.bodies).toHaveLength(3);
  });

  test.each([
    ["a conversation that is too long", 400, "maximum context length is 4096 tokens"],
    ["an unknown model", 404, "the model does not support reasoning"],
    ["an overload", 503, "temperature is not supported"],
  ])("%s is not one of them", async (_, status, message) => {
    server.answer = (response) =>
      response.writeHead(status, json).end(JSON.stringify({ error: { message } }));
    const request = exampleRequest({ model: "local/qwen", temperature: 0.2 });
    await expect(resolve("local/qwen")(request, () => {})).rejects.toThrow();
    expect(server.bodies).toHaveLength(1);
  });

  test("a model that goes on refusing is asked twice and no more", async () => {
    const error = { message: "temperature is not supported" };
    server.answer = (response) => response.writeHead(400, json).end(JSON.stringify({ error }));
    const request = exampleRequest({ model: "local/qwen", temperature: 0.2 });
    await expect(resolve("local/qwen")(request, () => {})).rejects.toMatchObject({
      kind: "rejected",
    });
    expect(server.bodies).toHaveLength(2);
  });
});
