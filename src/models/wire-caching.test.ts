/** What is asked to be cached, and what is counted and paid of it, over the real protocols. */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Message, ModelReply } from "../ports/model.ts";
import { exampleRequest, toolResult } from "./example-request.test-support.ts";
import { createModelRegistry } from "./model-registry.ts";
import { protocols } from "./wire-protocols.test-support.ts";
import { sendEvents, startWireServer, type WireServer } from "./wire-server.test-support.ts";

let server: WireServer;
beforeAll(async () => {
  server = await startWireServer();
});
afterAll(() => server.close());

const tools = ["grep", "glob"].map((name) => ({
  name,
  description: name,
  parameters: { type: "object" },
}));

function registry() {
  return createModelRegistry({
    environment: {
      ANTHROPIC_API_KEY: "k",
      ANTHROPIC_BASE_URL: server.url,
      GOOGLE_GENERATIVE_AI_API_KEY: "k",
      GOOGLE_GENERATIVE_AI_BASE_URL: server.url,
      OPENAI_API_KEY: "k",
      OPENAI_BASE_URL: `${server.url}/v1`,
    },
  });
}

async function ask(name: string, events: object[], messages: Message[]): Promise<ModelReply> {
  server.answer = (response) => sendEvents(response, events);
  const request = exampleRequest({ model: name, system: "be brief", tools, messages });
  return registry().resolve(name)(request, () => {});
}

/** Where the marks are in what was sent: the last word of each marked block. */
function marks(): string[] {
  const found: string[] = [];
  const visit = (value: unknown, path: string): void => {
    if (typeof value !== "object" || value === null) return;
    if ("cache_control" in value) {
      expect(value.cache_control).toEqual({ type: "ephemeral" });
      found.push(path);
    }
    for (const [key, inner] of Object.entries(value)) visit(inner, `${path}/${key}`);
  };
  visit(JSON.parse(server.bodies.at(-1) ?? ""), "");
  return found.sort();
}

function turn(number: number, calls = 1): Message[] {
  const ids = Array.from({ length: calls }, (_, index) => `c${number}_${index}`);
  return [
    { role: "assistant", text: "", calls: ids.map((id) => ({ id, name: "grep", input: {} })) },
    ...ids.map((id) => toolResult("grep", `found ${id}`, id)),
  ];
}

test("Anthropic is told to remember tools, system, this request and the one before", async () => {
  const name = "anthropic/claude-sonnet-5-5";
  const events = protocols["anthropic/claude-sonnet-4-5"]?.({ text: "x" }) ?? [];
  const task: Message = { role: "user", text: "go" };
  await ask(name, events, [task]);
  const fixed = ["/system/0", "/tools/1"];
  expect(marks()).toEqual(["/messages/0/content/0", ...fixed]);
  await ask(name, events, [task, ...turn(1, 2)]);
  expect(marks()).toEqual(["/messages/0/content/0", "/messages/2/content/1", ...fixed]);
  // More blocks in one turn than the provider looks back.
  await ask(name, events, [task, ...turn(1, 2), ...turn(2, 30)]);
  expect(marks()).toEqual(["/messages/2/content/1", "/messages/4/content/29", ...fixed]);
});

test("however a conversation goes, there are at most four marks", async () => {
  const events = protocols["anthropic/claude-sonnet-4-5"]?.({ text: "x" }) ?? [];
  const texts: Message[] = Array.from({ length: 6 }, (_, index) => ({
    role: "user",
    text: `word ${index}`,
  }));
  const shapes: Message[][] = [
    texts,
    [...texts, ...turn(1), ...texts],
    turn(1),
    [...turn(1), ...turn(2), { role: "assistant", text: "done", calls: [] }],
  ];
  for (const messages of shapes) {
    await ask("anthropic/claude-sonnet-4-5", events, messages);
    expect(marks().length).toBeLessThanOrEqual(4);
  }
});

test.each(["openai/gpt-4.1", "openai-chat/gpt-4.1", "google/gemini-2.5-flash"])(
  "%s caches by itself and is told nothing",
  async (name) => {
    await ask(name, protocols[name]?.({ text: "x" }) ?? [], [{ role: "user", text: "go" }]);
    expect(server.bodies.at(-1)).not.toMatch(/cache_?control/i);
  },
);

/** The reply of each provider to a prompt of 10,000 tokens, 6,000 of which it had in its cache. */
const cachedReplies: [string, object[], object, number][] = [
  [
    "anthropic/claude-sonnet-5-5",
    withUsage("anthropic/claude-sonnet-4-5", {
      input_tokens: 1000,
      output_tokens: 100,
      cache_read_input_tokens: 6000,
      cache_creation_input_tokens: 3000,
    }),
    { prompt: 10_000, completion: 100, cached: 6000, cacheWrite: 3000 },
    // 1,000 at $2, 6,000 at $0.20, 3,000 at $2.50, 100 at $10.
    0.0117,
  ],
  [
    "openai/gpt-6.1-sol",
    withUsage("openai/gpt-4.1", {
      input_tokens: 10_000,
      output_tokens: 100,
      input_tokens_details: { cached_tokens: 6000, cache_write_tokens: 3000 },
    }),
    { prompt: 10_000, completion: 100, cached: 6000, cacheWrite: 3000 },
    // 1,000 at $2, 6,000 at $0.10, 3,000 at $2.50, 100 at $10.
    0.0111,
  ],
  [
    "openai-chat/gpt-4.1",
    withUsage("openai-chat/gpt-4.1", {
      prompt_tokens: 10_000,
      completion_tokens: 100,
      prompt_tokens_details: { cached_tokens: 6000 },
    }),
    { prompt: 10_000, completion: 100, cached: 6000 },
    // 4,000 at $2, 6,000 at $0.50, 100 at $8.
    0.0118,
  ],
  [
    "google/gemini-2.5-flash",
    withUsage("google/gemini-2.5-flash", {
      promptTokenCount: 10_000,
      candidatesTokenCount: 60,
      thoughtsTokenCount: 40,
      cachedContentTokenCount: 6000,
    }),
    { prompt: 10_000, completion: 100, cached: 6000 },
    // 4,000 at $0.30, 6,000 at $0.03, 100 at $2.50.
    0.00163,
  ],
];

test.each(cachedReplies)("%s: cached tokens are counted and priced as such", async (...row) => {
  const [name, events, usage, dollars] = row;
  const reply = await ask(name, events, [{ role: "user", text: "go" }]);
  expect(reply.usage).toEqual(usage);
  expect(registry().cost(name, reply.usage ?? { prompt: 0, completion: 0 })).toBeCloseTo(
    dollars,
    9,
  );
});

/** The events of a protocol with other counts in them, wherever they stand. */
function withUsage(protocol: string, usage: object): object[] {
  const events = protocols[protocol]?.({ text: "x" }) ?? [];
  return JSON.parse(JSON.stringify(events), (key, value) =>
    (key === "usage" || key === "usageMetadata") && value !== null ? usage : value,
  );
}
