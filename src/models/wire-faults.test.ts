/** Real provider clients against everything that goes wrong on the way. */
import { createServer, type ServerResponse } from "node:http";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ModelFault, ModelPart, ModelReply } from "../ports/model.ts";
import { ManualClock } from "../testing/manual-clock.ts";
import { until } from "../testing/until.ts";
import { exampleRequest } from "./example-request.test-support.ts";
import { createModelRegistry } from "./model-registry.ts";
import { protocols } from "./wire-protocols.test-support.ts";
import { sendEvents, startWireServer, type WireServer } from "./wire-server.test-support.ts";

let server: WireServer;
beforeAll(async () => {
  server = await startWireServer();
});
afterAll(() => server.close());

const clock = new ManualClock();
const key = "canary-key-0123456789";

function ask(
  name: string,
  overrides: Parameters<typeof exampleRequest>[0] = {},
  onPart: (part: ModelPart) => void = () => {},
): Promise<ModelReply> {
  const { resolve } = createModelRegistry({
    clock,
    environment: {
      ANTHROPIC_API_KEY: key,
      ANTHROPIC_BASE_URL: server.url,
      GOOGLE_GENERATIVE_AI_API_KEY: key,
      GOOGLE_GENERATIVE_AI_BASE_URL: server.url,
      OPENAI_API_KEY: key,
      OPENAI_BASE_URL: `${server.url}/v1`,
    },
    config: {
      providers: {
        local: { kind: "openai-compatible", baseUrl: `${server.url}/v1`, apiKey: key },
      },
    },
  });
  const tools = [{ name: "grep", description: "", parameters: { type: "object" } }];
  return resolve(name)(exampleRequest({ model: name, tools, ...overrides }), onPart);
}

async function faultOf(
  name: string,
  answer: (response: ServerResponse) => void,
  onPart?: (part: ModelPart) => void,
) {
  server.answer = answer;
  const outcome = await ask(name, {}, onPart).catch((fault: ModelFault) => fault);
  expect(outcome).toMatchObject({ name: "ModelFault" });
  const fault = outcome as ModelFault;
  const everything = `${fault.message} ${fault.stack} ${JSON.stringify(fault)} ${String(fault.cause)}`;
  expect(everything).not.toContain(key);
  return fault;
}

function refuse(status: number, body: string, headers: Record<string, string> = {}) {
  return (response: ServerResponse) => response.writeHead(status, headers).end(body);
}

describe.each(Object.entries(protocols))("%s", (name, events) => {
  const json = { "content-type": "application/json" };
  const error = (message: string, type = "error") =>
    JSON.stringify({ type: "error", error: { type, message, code: type, param: null } });

  test("429 without retry-after is the account's own limit", async () => {
    const body = error("You exceeded your current quota", "insufficient_quota");
    expect(await faultOf(name, refuse(429, body, json))).toMatchObject({ kind: "spend-cap" });
    expect((await faultOf(name, refuse(429, error("slow down"), json))).kind).toBe("spend-cap");
  });

  test("429 with a date to come back, or milliseconds", async () => {
    const date = new Date(clock.now() + 60_000).toUTCString();
    const byDate = await faultOf(name, refuse(429, error("x"), { ...json, "retry-after": date }));
    expect(byDate).toMatchObject({ kind: "rate-limited", retryAfterMs: 60_000 });
    const headers = { ...json, "retry-after-ms": "1500" };
    const byMs = await faultOf(name, refuse(429, error("x"), headers));
    expect(byMs.retryAfterMs).toBe(1500);
  });

  test("an HTML 502 is an overload", async () => {
    const page = "<html><head><title>502 Bad Gateway</title></head></html>";
    const fault = await faultOf(name, refuse(502, page, { "content-type": "text/html" }));
    expect(fault).toMatchObject({ kind: "overloaded" });
    expect(fault.message).toContain("502");
  });

  test("a refused key is named as that, and not shown", async () => {
    const fault = await faultOf(name, refuse(401, error(`Incorrect API key: ${key}`), json));
    expect(fault.kind).toBe("unauthorized");
    expect(fault.remedy).toMatch(
      name.startsWith("local")
        ? /Correct the key of "local"/
        : /^Set [A-Z_]+_API_KEY to a valid key/,
    );
  });

  test("a conversation that is too long, and an unknown model", async () => {
    const long = error("prompt is too long: 201000 tokens > 200000 maximum");
    expect((await faultOf(name, refuse(400, long, json))).kind).toBe("context-overflow");
    const [provider, model] = name.split("/");
    server.list = JSON.stringify({ data: [{ id: `${model}-x` }, { id: "another" }] });
    const unknown = await faultOf(name, refuse(404, error("no such model"), json));
    const remedy = `Did you mean ${provider}/${model}-x?`;
    expect(unknown).toMatchObject({ kind: "unknown-model", remedy });
    server.list = JSON.stringify({ models: [{ name: "models/another" }] });
    const other = await faultOf(name, refuse(404, error("no such model"), json));
    expect(other.remedy).toBe(`It offers ${provider}/another.`);
    delete server.list;
  });

  test("a web page in place of an answer is told with its title, and is not an overload", async () => {
    const page = "<html><head><title>Sign in\u001b[2J</title></head></html>";
    for (const status of [200, 403, 404]) {
      const html = { "content-type": "text/html; charset=utf-8" };
      const fault = await faultOf(name, refuse(status, page, html));
      expect(fault.kind).toBe("wrong-address");
      expect(fault.message).toContain(`answered with a web page “Sign in`);
      expect(fault.remedy).toContain("sign in to the proxy");
    }
    expect((await faultOf(name, refuse(404, "404 page not found"))).kind).toBe("wrong-address");
  });

  test.each<[string, (response: ServerResponse) => void]>([
    ["the socket breaks", (response) => response.destroy()],
    ["the stream just ends", (response) => response.end()],
  ])("when %s inside a call's arguments, the text is kept and no call is made", async (_, end) => {
    const cut = events({ text: "I will look.", arguments: '{"patt', isComplete: false });
    const heard = Promise.withResolvers<void>();
    const fault = await faultOf(
      name,
      (response) => sendEvents(response, cut, () => void heard.promise.then(() => end(response))),
      ({ type }) => type === "text" && heard.resolve(),
    );
    expect(fault).toMatchObject({ kind: "connection", partial: "I will look." });
  });

  test("a stream that ends after complete arguments, but before the end, makes no call", async () => {
    const cut = events({ text: "I will look.", arguments: "{}", isComplete: false });
    const fault = await faultOf(name, (response) => sendEvents(response, cut));
    expect(fault).toMatchObject({ kind: "connection" });
  });

  test("a socket that breaks before anything, or an answer that is no stream", async () => {
    expect((await faultOf(name, (response) => response.destroy())).kind).toBe("connection");
    expect((await faultOf(name, refuse(200, "welcome"))).kind).toBe("unreadable");
    expect((await faultOf(name, refuse(200, '{"hello": 1}', json))).kind).toBe("unreadable");
  });

  test("an event that is not JSON breaks the stream", async () => {
    const fault = await faultOf(name, (response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.end("event: message_start\ndata: {oops\n\n");
    });
    expect(fault.kind).toBe("unreadable");
    expect(fault.message).toMatch(/invalid JSON, “\{oops”|does not follow the protocol/);
  });

  test("malformed arguments are kept as text", async () => {
    const raw = '{"pattern": nope}';
    server.answer = (response) => sendEvents(response, events({ arguments: raw }));
    const { calls, finish } = await ask(name);
    expect(calls).toEqual([{ id: "call_a", name: "grep", input: undefined, malformed: raw }]);
    expect(finish).toBe("tool-calls");
  });

  test("an answer cut for its length says so, and its unfinished call is malformed", async () => {
    const cut = events({ text: "so", arguments: '{"patt', finish: "length" });
    server.answer = (response) => sendEvents(response, cut);
    const reply = await ask(name);
    expect(reply).toMatchObject({ text: "so", finish: "length", calls: [{ malformed: '{"patt' }] });
  });

  test("usage is null when the provider does not tell it", async () => {
    server.answer = (response) => sendEvents(response, events({ text: "x", usage: false }));
    expect(await ask(name)).toMatchObject({ text: "x", usage: null, finish: "stop" });
    server.answer = (response) => sendEvents(response, events({ text: "x" }));
    expect((await ask(name)).usage).toEqual({ prompt: 9, completion: 3 });
  });

  test("an abort is heard while the provider says nothing, before and inside the stream", async () => {
    const asked = Promise.withResolvers<void>();
    server.answer = () => asked.resolve();
    const late = new AbortController();
    const silent = ask(name, { signal: late.signal });
    await asked.promise;
    late.abort("late");
    await expect(silent).rejects.toBe("late");
    const begun = events({ text: "half", isComplete: false });
    server.answer = (response) => sendEvents(response, begun, () => {});
    const controller = new AbortController();
    const stalled = ask(name, { signal: controller.signal }, (part) => {
      if (part.type === "text") setImmediate(() => controller.abort("stalled"));
    });
    await expect(stalled).rejects.toBe("stalled");
  });
});

describe("where nobody listens on this machine", () => {
  /** The second try is due as soon as time moves on. */
  async function askNobody() {
    const clock = new ManualClock();
    const closed = await startWireServer();
    closed.close();
    const { resolve } = createModelRegistry({ clock, environment: { OLLAMA_HOST: closed.url } });
    const asked = resolve("ollama/qwen")(exampleRequest({ model: "ollama/qwen" }), () => {});
    asked.catch(() => undefined);
    await until("the first try fails", () => clock.waiting > 0);
    return { asked, clock, port: Number(new URL(closed.url).port) };
  }

  test("it is said what to start, and where", async () => {
    const { asked, clock, port } = await askNobody();
    await clock.advance(500);
    const message = `ollama/qwen cannot be reached: nothing answers at 127.0.0.1:${port}.`;
    const remedy = "Start ollama, or set OLLAMA_HOST to where it listens.";
    await expect(asked).rejects.toMatchObject({ kind: "unreachable", message, remedy });
  });

  test("what was just about to start is asked once more", async () => {
    const { asked, clock, port } = await askNobody();
    const events = protocols["local/qwen"]?.({ text: "here" }) ?? [];
    const late = createServer((_request, response) => sendEvents(response, events));
    await new Promise<void>((resolve) => late.listen(port, "127.0.0.1", resolve));
    await clock.advance(500);
    expect(await asked).toMatchObject({ text: "here" });
    late.closeAllConnections();
    late.close();
  });
});

test("an overload that comes inside a stream that began well", async () => {
  const [first = {}] = protocols["anthropic/claude-sonnet-4-5"]?.({}) ?? [];
  const overload = { type: "error", error: { type: "overloaded_error", message: "Overloaded" } };
  const late = await faultOf("anthropic/claude-sonnet-4-5", (response) =>
    sendEvents(response, [first, overload]),
  );
  expect(late.kind).toBe("overloaded");
  const early = await faultOf("anthropic/claude-sonnet-4-5", (response) =>
    sendEvents(response, [overload]),
  );
  expect(early.kind).toBe("overloaded");
});

test("Google says in the body when to come back, and that a key is none", async () => {
  const json = { "content-type": "application/json" };
  const retry = { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "34.5s" };
  const quota = { code: 429, status: "RESOURCE_EXHAUSTED", message: "You exceeded your quota" };
  const body = JSON.stringify({ error: { ...quota, details: [retry] } });
  const limited = await faultOf("google/gemini-2.5-flash", refuse(429, body, json));
  expect(limited).toMatchObject({ kind: "rate-limited", retryAfterMs: 34_500 });
  const invalid = { code: 400, status: "INVALID_ARGUMENT", message: "API key not valid." };
  const answer = refuse(400, JSON.stringify({ error: invalid }), json);
  expect((await faultOf("google/gemini-2.5-flash", answer)).kind).toBe("unauthorized");
});

test("a call that Gemini could not finish writing is a cut stream that says so", async () => {
  const [first = {}] = protocols["google/gemini-2.5-flash"]?.({ text: "so" }) ?? [];
  const stop = { candidates: [{ finishReason: "MALFORMED_FUNCTION_CALL", index: 0 }] };
  const fault = await faultOf("google/gemini-2.5-flash", (response) =>
    sendEvents(response, [first, stop]),
  );
  expect(fault).toMatchObject({ kind: "connection", partial: "so" });
  expect(fault.message).toContain("MALFORMED_FUNCTION_CALL");
});

test("Gemini's signatures go back with its calls, and it says which model answered", async () => {
  const name = "google/gemini-2.5-flash";
  const call = { id: "call_a", name: "grep", args: { pattern: "x" } };
  const part = { functionCall: call, thoughtSignature: "signed-by-google" };
  const content = { role: "model", parts: [part] };
  const event = {
    candidates: [{ content, finishReason: "STOP" }],
    modelVersion: "models/gemini-x",
  };
  server.answer = (response) => sendEvents(response, [event]);
  const { calls, providerData, finish, served } = await ask(name);
  expect({ finish, served }).toEqual({ finish: "tool-calls", served: "gemini-x" });
  await ask(name, {
    messages: [
      { role: "user", text: "hello" },
      { role: "assistant", text: "", calls, providerData },
      { role: "tool", callId: "call_a", tool: "grep", text: "found", isError: false },
    ],
  });
  const sent = JSON.parse(server.bodies.at(-1) ?? "");
  expect(sent.contents[1].parts[0]).toMatchObject({ thoughtSignature: "signed-by-google" });
  expect(JSON.stringify(sent.contents[2])).toContain("found");
});

test("OpenAI is asked not to store, and thinking goes back signed", async () => {
  const name = "anthropic/claude-sonnet-4-5";
  const delta = (value: object) => ({ type: "content_block_delta", index: 0, delta: value });
  const [start = {}, ...rest] = protocols[name]?.({ text: "x" }) ?? [];
  const thinking = [
    { type: "content_block_start", index: 0, content_block: { type: "thinking", thinking: "" } },
    delta({ type: "thinking_delta", thinking: "hm" }),
    delta({ type: "signature_delta", signature: "signed-by-them" }),
    { type: "content_block_stop", index: 0 },
  ];
  server.answer = (response) => sendEvents(response, [start, ...thinking, ...rest]);
  const { text, calls, providerData } = await ask(name);
  expect(text).toBe("x");
  await ask(name, {
    messages: [
      { role: "user", text: "hello" },
      { role: "assistant", text, calls, providerData },
      { role: "user", text: "go on" },
    ],
  });
  const sent = JSON.parse(server.bodies.at(-1) ?? "");
  expect(sent.messages[1].content).toEqual([
    { type: "thinking", thinking: "hm", signature: "signed-by-them" },
    { type: "text", text: "x" },
  ]);
  server.answer = (response) => sendEvents(response, protocols["openai/gpt-4.1"]?.({}) ?? []);
  await ask("openai/gpt-4.1");
  expect(JSON.parse(server.bodies.at(-1) ?? "").store).toBe(false);
});
