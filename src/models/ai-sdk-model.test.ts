import type { LanguageModelV4, LanguageModelV4CallOptions } from "@ai-sdk/provider";
import { expect, test } from "vitest";
import type { Message, ModelPart, ModelReply } from "../ports/model.ts";
import { aiSdkModel } from "./ai-sdk-model.ts";
import { exampleRequest, toolResult } from "./example-request.test-support.ts";

type Part = Parameters<ReadableStreamDefaultController["enqueue"]>[0];

/** A language model of the SDK that streams what it is given and remembers what it was asked. */
function fakeModel(parts: readonly Part[], asked: LanguageModelV4CallOptions[] = []) {
  const model: LanguageModelV4 = {
    specificationVersion: "v4",
    provider: "fake",
    modelId: "fake",
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error("not used")),
    doStream: (options) => {
      asked.push(options);
      return Promise.resolve({ stream: ReadableStream.from(parts) as ReadableStream });
    },
  };
  return model;
}

const usage = {
  inputTokens: { total: 10, noCache: 6, cacheRead: 4, cacheWrite: 0 },
  outputTokens: { total: 5, text: 5, reasoning: 0 },
};
const silent = {
  inputTokens: {
    total: undefined,
    noCache: undefined,
    cacheRead: undefined,
    cacheWrite: undefined,
  },
  outputTokens: { total: undefined, text: undefined, reasoning: undefined },
};
const finish = (unified: string, raw = unified, count: object = usage) => ({
  type: "finish",
  finishReason: { unified, raw },
  usage: count,
});
const call = (toolCallId: string, input: string, more: object = {}) => ({
  type: "tool-call",
  toolCallId,
  toolName: "grep",
  input,
  ...more,
});

function ask(parts: readonly Part[], messages?: readonly Message[]): Promise<ModelReply> {
  const request = exampleRequest(messages === undefined ? {} : { messages });
  return aiSdkModel(fakeModel(parts))(request, () => {});
}

test("text, reasoning and signs of life are streamed, and assembled into a reply", async () => {
  const heard: ModelPart[] = [];
  const model = fakeModel([
    { type: "stream-start", warnings: [] },
    { type: "response-metadata", modelId: "served-1" },
    { type: "reasoning-start", id: "r" },
    { type: "reasoning-delta", id: "r", delta: "hm" },
    { type: "reasoning-end", id: "r" },
    { type: "text-start", id: "t" },
    { type: "text-delta", id: "t", delta: "Hel" },
    { type: "text-delta", id: "t", delta: "lo" },
    { type: "text-end", id: "t" },
    { type: "tool-input-start", id: "c", toolName: "grep" },
    { type: "tool-input-delta", id: "c", delta: "{}" },
    call("c", '{"a":1}'),
    finish("tool-calls"),
  ]);
  const reply = await aiSdkModel(model)(exampleRequest(), (part) => heard.push(part));
  expect(reply).toMatchObject({
    text: "Hello",
    calls: [{ id: "c", name: "grep", input: { a: 1 } }],
    finish: "tool-calls",
    usage: { prompt: 10, completion: 5, cached: 4 },
    served: "served-1",
  });
  expect(heard.map((part) => part.type)).toEqual([
    ...["reasoning", "text", "text", "activity", "activity", "activity"],
  ]);
});

test.each([
  ["unsaid", silent],
  ["not numbers", { inputTokens: { total: Number.NaN }, outputTokens: { total: Number.NaN } }],
  ["zero", { inputTokens: { total: 0 }, outputTokens: { total: 0 } }],
])("usage that is %s is null", async (_, count) => {
  expect((await ask([finish("stop", "stop", count)])).usage).toBeNull();
});

test("arguments that are not JSON are kept as text, none at all are an empty object", async () => {
  const reply = await ask([call("a", '{"x": '), call("b", ""), finish("tool-calls")]);
  expect(reply.calls).toEqual([
    { id: "a", name: "grep", input: undefined, malformed: '{"x": ' },
    { id: "b", name: "grep", input: {} },
  ]);
});

test("a call that was cut before its arguments began is not one without arguments", async () => {
  const delta = { type: "tool-input-delta", id: "a", delta: '{"x":1}' };
  const reply = await ask([delta, call("a", '{"x":1}'), call("b", "{}"), finish("length")]);
  expect(reply.finish).toBe("length");
  expect(reply.calls).toMatchObject([{ input: { x: 1 } }, { input: undefined, malformed: "{}" }]);
});

test("calls that share an id, or have none, get their own", async () => {
  const before: Message = {
    role: "assistant",
    text: "",
    calls: [{ id: "x", name: "t", input: {} }],
  };
  const parts = [call("x", "{}"), call("x", "{}"), call("", "{}"), finish("tool-calls")];
  const ids = (await ask(parts, [before])).calls.map(({ id }) => id);
  expect(new Set([...ids, "x", ""]).size).toBe(5);
});

test.each([
  ["none", () => ""],
  ["one", () => "same"],
  // The names that doubles get are themselves wanted by others.
  ["chained ones", (index: number) => (index % 2 === 0 ? "a" : `a_1_1_${index}`)],
])("4,096 calls with ids like %s get their own without holding anybody up", async (_what, idOf) => {
  const parts = Array.from({ length: 4096 }, (_, index) => call(idOf(index), "{}"));
  const { calls } = await ask([...parts, finish("tool-calls")]);
  expect(new Set(calls.map(({ id }) => id)).size).toBe(4096);
});

test("more calls than anybody plans are a fault, and so are endless arguments", async () => {
  const many = Array.from({ length: 4097 }, () => call("", "{}"));
  await expect(ask([...many, finish("tool-calls")])).rejects.toThrow(/more than 4096 calls/);
  const long = Array.from({ length: 10 }, () => call("", JSON.stringify("x".repeat(20_000))));
  await expect(ask([...long, finish("tool-calls")])).rejects.toThrow(/did not stop at the 1000/);
});

test("what the provider executes itself is not a call", async () => {
  expect((await ask([call("a", "{}", { providerExecuted: true }), finish("stop")])).calls).toEqual(
    [],
  );
});

test("the calls decide between stop and tool-calls", async () => {
  expect((await ask([call("a", "{}"), finish("stop")])).finish).toBe("tool-calls");
  expect((await ask([finish("tool-calls")])).finish).toBe("other");
});

const madeUp = { ...finish("other", "", silent), finishReason: { unified: "other" } };
const begun = [
  { type: "text-start", id: "t" },
  { type: "text-delta", id: "t", delta: "half" },
  call("a", '{"x":1}'),
];

test.each([
  ["ends without a finish", begun],
  ["has a finish that nobody sent", [...begun, madeUp]],
  ["finishes with an error", [...begun, finish("error")]],
  ["carries an error", [...begun, { type: "error", error: new Error("boom") }, finish("stop")]],
])("a stream that %s is a cut connection, and its calls are lost", async (_, parts) => {
  const fault = { name: "ModelFault", kind: "connection", partial: "half" };
  await expect(ask(parts)).rejects.toMatchObject(fault);
});

test("a stream that throws is a cut connection", async () => {
  async function* broken() {
    yield* begun;
    throw new TypeError("terminated");
  }
  const model: LanguageModelV4 = {
    ...fakeModel([]),
    doStream: () => Promise.resolve({ stream: ReadableStream.from(broken()) as ReadableStream }),
  };
  const asked = aiSdkModel(model)(exampleRequest(), () => {});
  await expect(asked).rejects.toMatchObject({ kind: "connection", partial: "half" });
});

test("an abort is heard at once, even by a model that does not listen, and silences it", async () => {
  const controller = new AbortController();
  let push: (part: Part) => void = () => {};
  const stream = new ReadableStream({ start: (stream) => (push = (part) => stream.enqueue(part)) });
  const model = { ...fakeModel([]), doStream: () => Promise.resolve({ stream }) };
  const heard: ModelPart[] = [];
  const request = exampleRequest({ signal: controller.signal });
  const asked = aiSdkModel(model as LanguageModelV4)(request, (part) => {
    heard.push(part);
    controller.abort("enough");
    push({ type: "text-delta", id: "t", delta: "late" });
  });
  push({ type: "text-delta", id: "t", delta: "early" });
  await expect(asked).rejects.toBe("enough");
  expect(heard).toEqual([{ type: "text", text: "early" }]);
  const never = { ...fakeModel([]), doStream: () => new Promise(() => {}) };
  const second = aiSdkModel(never as unknown as LanguageModelV4)(
    exampleRequest({ signal: AbortSignal.timeout(5) }),
    () => {},
  );
  await expect(second).rejects.toMatchObject({ name: "TimeoutError" });
});

test("messages and tools are converted once, and empty ones are left out", async () => {
  const asked: LanguageModelV4CallOptions[] = [];
  const model = aiSdkModel(fakeModel([finish("stop")], asked));
  const messages: Message[] = [
    { role: "user", text: "go" },
    {
      role: "assistant",
      text: "",
      calls: [{ id: "a", name: "t", input: undefined, malformed: "{" }],
    },
    { ...toolResult("t", "no", "a"), isError: true } as Message,
    { role: "assistant", text: " ", calls: [] },
  ];
  const tools = [{ name: "t", description: "d", parameters: { type: "object" } }];
  const request = exampleRequest({ system: "be brief", messages, tools, temperature: 0.5 });
  await model(request, () => {});
  await model({ ...request, messages: [...messages, { role: "user", text: "more" }] }, () => {});
  const [first, second] = asked;
  expect(first?.prompt).toEqual([
    { role: "system", content: "be brief" },
    { role: "user", content: [{ type: "text", text: "go" }] },
    {
      role: "assistant",
      content: [{ type: "tool-call", toolCallId: "a", toolName: "t", input: {} }],
    },
    {
      role: "tool",
      content: [
        {
          type: "tool-result",
          toolCallId: "a",
          toolName: "t",
          output: { type: "error-text", value: "no" },
        },
      ],
    },
  ]);
  expect(first).toMatchObject({ maxOutputTokens: 1000, temperature: 0.5 });
  expect(second?.prompt).toHaveLength(5);
  expect(second?.prompt[2]).toBe(first?.prompt[2]);
  expect(second?.tools).toBe(first?.tools);
});

test("what the provider attached goes back to the same model, in order, and to no other", async () => {
  const asked: LanguageModelV4CallOptions[] = [];
  const signed = { anthropic: { signature: "s1" } };
  const reply = await ask([
    { type: "reasoning-start", id: "r" },
    { type: "reasoning-delta", id: "r", delta: "think" },
    { type: "reasoning-delta", id: "r", delta: "", providerMetadata: signed },
    { type: "reasoning-end", id: "r" },
    { type: "text-start", id: "t" },
    { type: "text-delta", id: "t", delta: "Look." },
    { type: "text-end", id: "t", providerMetadata: { openai: { itemId: "i1" } } },
    call("c", "{}", { providerMetadata: { google: { thoughtSignature: "g" } } }),
    finish("tool-calls"),
  ]);
  // It travels through the log, so it must survive JSON.
  const providerData = JSON.parse(JSON.stringify(reply.providerData));
  const answer: Message = { role: "assistant", text: reply.text, calls: reply.calls, providerData };
  const request = exampleRequest({ messages: [answer] });
  const ask2 = (model: string, message: Message) =>
    aiSdkModel(fakeModel([finish("stop")], asked))(
      { ...request, model, messages: [message] },
      () => {},
    );
  await ask2("scripted/test", answer);
  await ask2("other/model", answer);
  await ask2("scripted/test", { ...answer, text: "shortened" });
  const part = { toolCallId: "c", toolName: "grep", input: {}, type: "tool-call" };
  expect(asked[0]?.prompt[0]?.content).toEqual([
    { type: "reasoning", text: "think", providerOptions: signed },
    { type: "text", text: "Look.", providerOptions: { openai: { itemId: "i1" } } },
    { ...part, providerOptions: { google: { thoughtSignature: "g" } } },
  ]);
  expect(asked[1]?.prompt[0]?.content).toEqual([{ type: "text", text: "Look." }, part]);
  expect(asked[2]?.prompt[0]?.content).toEqual([{ type: "text", text: "shortened" }, part]);
});

test("a plain reply has nothing to send back", async () => {
  const reply = await ask([...begun, finish("tool-calls")]);
  expect(reply).not.toHaveProperty("providerData");
});
