import { APICallError } from "@ai-sdk/provider";
import { expect, test } from "vitest";
import type { ModelFaultKind } from "../ports/model.ts";
import { toModelFault } from "./to-model-fault.ts";

function httpError(statusCode: number, body: string, responseHeaders: Record<string, string> = {}) {
  return new APICallError({
    message: body.slice(0, 80),
    url: "http://localhost/v1/messages",
    requestBodyValues: { prompt: "the whole conversation" },
    statusCode,
    responseHeaders,
    responseBody: body,
  });
}

function kindOf(error: unknown): ModelFaultKind {
  return toModelFault(error, { model: "a/b", now: 0 }).kind;
}

test.each<[string, number, string, ModelFaultKind]>([
  ["any 429 without retry-after", 429, "slow down", "spend-cap"],
  ["a 429 of the quota", 429, '{"error":{"code":"insufficient_quota"}}', "spend-cap"],
  ["payment required", 402, "Insufficient credits", "spend-cap"],
  ["an empty balance", 400, "Your credit balance is too low", "spend-cap"],
  ["500", 500, "{}", "overloaded"],
  ["an HTML 502", 502, "<html><body>Bad Gateway</body></html>", "overloaded"],
  ["503", 503, "", "overloaded"],
  ["529", 529, '{"error":{"type":"overloaded_error"}}', "overloaded"],
  ["401", 401, "invalid x-api-key", "unauthorized"],
  ["403", 403, "permission denied", "unauthorized"],
  ["OpenAI's overflow", 400, '{"error":{"code":"context_length_exceeded"}}', "context-overflow"],
  ["Anthropic's overflow", 400, "prompt is too long: 210000 tokens > 200000", "context-overflow"],
  ["vLLM's overflow", 400, "This model's maximum context length is 4096", "context-overflow"],
  ["Google's overflow", 400, "The input token count (9) exceeds the maximum", "context-overflow"],
  ["413", 413, "Request Entity Too Large", "context-overflow"],
  ["408", 408, "Request Timeout", "connection"],
  ["an unknown model", 404, "model not found", "unknown-model"],
  [
    "Anthropic's unknown model",
    404,
    '{"type":"not_found_error","message":"model: x"}',
    "unknown-model",
  ],
  ["OpenRouter's unknown model", 400, "x/y is not a valid model ID", "unknown-model"],
  ["DeepSeek's unknown model", 400, "Model Not Exist", "unknown-model"],
  ["a model without access", 403, '{"error":{"code":"model_not_found"}}', "unknown-model"],
  ["a setting that a model lacks", 400, "max_tokens is not supported with this model", "rejected"],
  ["a path that does not exist", 404, "Not Found", "wrong-address"],
  ["a proxy that asks who it is", 407, "Proxy Authentication Required", "wrong-address"],
  ["a bad parameter", 400, "max_tokens is too large", "rejected"],
  ["a parameter out of range", 422, "temperature: must be at most 1", "rejected"],
])("%s", (_, status, body, kind) => {
  expect(kindOf(httpError(status, body))).toBe(kind);
});

test.each<[string, unknown, ModelFaultKind]>([
  ["a failed fetch", new TypeError("fetch failed"), "connection"],
  ["a cut socket", Object.assign(new Error("terminated"), { code: "ECONNRESET" }), "connection"],
  ["text", "boom", "connection"],
  ["nothing", undefined, "connection"],
  ["an overload in the stream", { type: "overloaded_error", message: "Overloaded" }, "overloaded"],
  ["a status in the stream", { message: "Provider returned error", code: 502 }, "overloaded"],
  ["a rate limit in the stream", { message: "slow down", code: 429 }, "overloaded"],
  ["a quota in the stream", { message: "insufficient_quota", code: 429 }, "spend-cap"],
  ["a bad request in the stream", { type: "invalid_request_error", message: "no" }, "rejected"],
])("%s", (_, error, kind) => {
  expect(kindOf(error)).toBe(kind);
});

test.each([
  ["seconds", { "retry-after": "7" }, 7000],
  ["parts of seconds", { "Retry-After": "0.5" }, 500],
  ["milliseconds", { "retry-after-ms": "1200", "retry-after": "9" }, 1200],
  ["a date", { "retry-after": "Thu, 01 Jan 1970 00:01:40 GMT" }, 90_000],
  ["a date in the past", { "retry-after": "Thu, 01 Jan 1970 00:00:01 GMT" }, 0],
])("a 429 with retry-after as %s is worth waiting for", (_, headers, expected) => {
  const fault = toModelFault(httpError(429, "slow", headers), { model: "a/b", now: 10_000 });
  expect(fault.kind).toBe("rate-limited");
  expect(fault.retryAfterMs).toBe(expected);
});

test.each(["soon", "-5", "", "1e9999"])("retry-after %j says nothing", (value) => {
  const fault = toModelFault(httpError(429, "slow", { "retry-after": value }), {
    model: "a/b",
    now: 0,
  });
  expect(fault.kind).toBe("spend-cap");
});

test.each([
  ["ollama/qwen3", { address: "127.0.0.1", port: 11_434 }, "127.0.0.1:11434."],
  ["own/model", { address: "::1", port: 9 }, "[::1]:9."],
  ["vllm/m", { errors: [{ address: "127.0.0.1", port: 8000 }] }, "127.0.0.1:8000."],
])(
  "%s on this machine that does not run is said to be so, and not waited for",
  (model, at, says) => {
    const cause = Object.assign(new Error("connect"), { code: "ECONNREFUSED", ...at });
    const { kind, message } = toModelFault(new TypeError("fetch failed", { cause }), {
      model,
      now: 0,
    });
    expect({ kind, message }).toEqual({
      kind: "unreachable",
      message: expect.stringContaining(says),
    });
  },
);

test.each(["192.168.0.9", "8.8.8.8"])("what %s refuses may be taken back", (address) => {
  const cause = Object.assign(new Error("connect"), { code: "ECONNREFUSED", address, port: 80 });
  expect(kindOf(new TypeError("fetch failed", { cause }))).toBe("connection");
});

test("a host that does not exist is not asked again, one whose look-up failed is", () => {
  const lookUp = (code: string) => {
    const cause = Object.assign(new Error("getaddrinfo"), { code, hostname: "llm.example" });
    return toModelFault(new TypeError("fetch failed", { cause }), { model: "a/b", now: 0 });
  };
  expect(lookUp("ENOTFOUND")).toMatchObject({
    kind: "unreachable",
    message: "a/b cannot be reached: no host is named llm.example.",
  });
  expect(lookUp("EAI_AGAIN")).toMatchObject({
    kind: "connection",
    message: "a/b lost the connection: fetch failed.",
  });
});

test("neither the key nor the conversation can be found anywhere in a fault", () => {
  const error = httpError(
    401,
    "Incorrect API key provided: tok-secret-1. See sk-abcdefabcdef12345678",
  );
  const fault = toModelFault(error, { model: "a/b", now: 0, secrets: ["tok-secret-1"] });
  const everything = `${fault.message} ${fault.stack} ${JSON.stringify(fault)} ${String(fault.cause)}`;
  expect(everything).not.toMatch(/tok-secret-1|sk-abcdef|whole conversation/);
  expect(fault.cause).toBeUndefined();
});

test("a message is one short sentence that names model and status", () => {
  const body = `<html><title>502</title>${"<p>x</p>".repeat(500)}</html>`;
  const error = new APICallError({ ...httpError(502, body), message: body, requestBodyValues: {} });
  const { message } = toModelFault(error, { model: "openai/gpt", now: 0 });
  expect(message).toMatch(/^openai\/gpt is overloaded or failing \(502\): 502 x/);
  expect(message.length).toBeLessThan(400);
});
