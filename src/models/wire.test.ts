/** Real provider clients against a server that speaks the real protocols. */
import { LLMock } from "@copilotkit/aimock";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { Message, Model, ModelPart, ModelReply } from "../ports/model.ts";
import { exampleRequest } from "./example-request.test-support.ts";
import { createModelRegistry } from "./model-registry.ts";

const server = new LLMock({ port: 0, logLevel: "silent" });
beforeAll(() => server.start());
afterAll(() => server.stop());
afterEach(() => {
  server.clearFixtures();
  server.clearRequests();
});

const tools = ["grep", "glob"].map((name) => ({
  name,
  description: `runs ${name}`,
  parameters: { type: "object", properties: { pattern: { type: "string" } } },
}));

const names = [
  "anthropic/claude-sonnet-4-5",
  "google/gemini-2.5-flash",
  "openai/gpt-4.1",
  "openai-chat/gpt-4.1",
  "local/qwen",
];

function model(name: string): Model {
  return createModelRegistry({
    environment: {
      ANTHROPIC_API_KEY: "key-anthropic",
      ANTHROPIC_BASE_URL: server.url,
      GOOGLE_GENERATIVE_AI_API_KEY: "key-google",
      GOOGLE_GENERATIVE_AI_BASE_URL: server.url,
      OPENAI_API_KEY: "key-openai",
      OPENAI_BASE_URL: `${server.url}/v1`,
    },
    config: { providers: { local: { kind: "openai-compatible", baseUrl: `${server.url}/v1` } } },
  }).resolve(name);
}

function ask(name: string, overrides: Parameters<typeof exampleRequest>[0] = {}) {
  const parts: ModelPart[] = [];
  const request = exampleRequest({ model: name, tools, ...overrides });
  return { parts, reply: model(name)(request, (part) => parts.push(part)) };
}

function lastBody(): Record<string, unknown> {
  return server.getLastRequest()?.body as unknown as Record<string, unknown>;
}

describe.each(names)("%s", (name) => {
  const isGoogle = name.startsWith("google/");
  // The server that speaks Gemini here does not say which model it is; see wire-faults.test.ts.
  const requested = isGoogle ? null : name.split("/")[1];

  test("streams text and reports usage and the model that answered", async () => {
    const told = { input_tokens: 21, output_tokens: 6, prompt_tokens: 21, completion_tokens: 6 };
    const content = "Good morning to you all";
    server.onMessage("hello", { content, usage: told }, { chunkSize: 4 });
    const { parts, reply } = ask(name);
    expect(await reply).toMatchObject({
      text: "Good morning to you all",
      calls: [],
      finish: "stop",
      served: requested,
      usage: { prompt: 21, completion: 6 },
    });
    const texts = parts.filter((part) => part.type === "text");
    expect(texts.length).toBeGreaterThan(2);
    expect(texts.map((part) => part.text).join("")).toBe("Good morning to you all");
  });

  test("gives parallel calls, and their results go back in the next request", async () => {
    const toolCalls = [
      { name: "grep", arguments: '{"pattern":"a"}', id: "call_a" },
      { name: "glob", arguments: '{"pattern":"b"}', id: "call_b" },
    ];
    server.onMessage("hello", { toolCalls });
    const reply = await ask(name).reply;
    expect(reply.finish).toBe("tool-calls");
    expect(reply.calls.map(({ name: tool, input }) => [tool, input])).toEqual([
      ["grep", { pattern: "a" }],
      ["glob", { pattern: "b" }],
    ]);

    server.clearFixtures();
    server.on({ predicate: () => true }, { content: "done" });
    const followed = await ask(name, { messages: conversation(reply) }).reply;
    expect(followed.text).toBe("done");
    const sent = JSON.stringify(lastBody());
    for (const { id } of reply.calls) expect(sent.split(id).length).toBeGreaterThan(2);
    expect(sent).toContain("result of glob");
  });

  test("an empty answer is an empty reply", async () => {
    server.onMessage("hello", { content: "" });
    expect(await ask(name).reply).toMatchObject({ text: "", calls: [], finish: "stop" });
  });

  test("429 with retry-after is worth waiting for", async () => {
    const error = { message: "slow down", type: "rate_limit_error" };
    server.onMessage("hello", { error, status: 429, retryAfter: 7 });
    const fault = { kind: "rate-limited", retryAfterMs: 7000 };
    await expect(ask(name).reply).rejects.toMatchObject(fault);
  });

  test.each([503, 529])("%i is an overload", async (status) => {
    server.onMessage("hello", { error: { message: "busy", type: "overloaded_error" }, status });
    await expect(ask(name).reply).rejects.toMatchObject({ kind: "overloaded" });
  });

  test("a stream that is cut inside a call's arguments yields no call", async () => {
    const long = JSON.stringify({ pattern: "x".repeat(400) });
    const toolCalls = [{ name: "grep", arguments: long }];
    // Gemini sends a call in one piece, so there the cut comes in the thoughts before it.
    const reply = isGoogle ? { toolCalls, reasoning: "hm ".repeat(200) } : { toolCalls };
    server.onMessage("hello", reply, { chunkSize: 20, truncateAfterChunks: 8 });
    await expect(ask(name).reply).rejects.toMatchObject({ kind: "connection" });
  });

  test("an abort while it streams ends the request with the signal's reason", async () => {
    server.onMessage("hello", { content: "word ".repeat(200) }, { chunkSize: 5, latency: 20 });
    const controller = new AbortController();
    const reason = new Error("enough");
    const request = exampleRequest({ model: name, signal: controller.signal });
    let heard = 0;
    const asked = model(name)(request, () => {
      heard += 1;
      if (heard === 3) controller.abort(reason);
    });
    await expect(asked).rejects.toBe(reason);
    expect(heard).toBe(3);
  });
});

function conversation(reply: ModelReply): Message[] {
  const { text, calls, providerData } = reply;
  return [
    { role: "user", text: "hello" },
    { role: "assistant", text, calls, ...(providerData === undefined ? {} : { providerData }) },
    ...calls.map(
      ({ id, name }): Message => ({
        role: "tool",
        callId: id,
        tool: name,
        text: `result of ${name}`,
        isError: false,
      }),
    ),
  ];
}
