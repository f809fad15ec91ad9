/** For tests: a provider that speaks all four protocols, and remembers what it was asked. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

type Json = Record<string, unknown>;

export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: Json;
}

/** What the provider reports of every answer. */
export interface Reported {
  readonly prompt: number;
  readonly completion: number;
  readonly cached?: number;
}

export class MockProvider {
  readonly asked: Asked[] = [];
  reported: Reported = { prompt: 120, completion: 30 };
  readonly billedTokens: Reported[] = [];
  /** Replaces the answer. */
  answer: ((response: ServerResponse, asked: Asked) => void) | undefined;
  /** Between the first event of a stream and the rest. */
  pause: Promise<void> | undefined;
  count: number | undefined;
  url = "";
  readonly #server = createServer((request, response) => void this.#hear(request, response));

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  /** Requests that cost something. */
  get billed(): readonly Asked[] {
    return this.asked.filter(({ path }) => !/count|input_tokens/.test(path));
  }

  async #hear(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = "";
    for await (const chunk of request) text += chunk;
    const { headers, method = "", url: path = "" } = request;
    const asked = { method, path, headers, body: JSON.parse(text || "{}") as Json };
    this.asked.push(asked);
    if (/count_tokens|input_tokens|countTokens/.test(path)) {
      const { count } = this;
      response.writeHead(count === undefined ? 404 : 200, { "content-type": "application/json" });
      response.end(JSON.stringify({ input_tokens: count, totalTokens: count }));
    } else if (this.answer !== undefined) this.answer(response, asked);
    else await this.#reply(response, asked);
  }

  async #reply(response: ServerResponse, { body, path }: Asked): Promise<void> {
    const isStreaming = body["stream"] === true || path.includes("alt=sse");
    const { completion, ...counts } = this.reported;
    // A provider keeps the limit of the request.
    const reported = { ...counts, completion: Math.min(completion, limitOf(body)) };
    this.billedTokens.push(reported);
    const { events, whole } = replyOf(path, body, reported);
    if (!isStreaming) {
      response.writeHead(200, { "content-type": "application/json", "request-id": "req_1" });
      response.end(JSON.stringify(whole));
      return;
    }
    response.writeHead(200, { "content-type": "text/event-stream" });
    const [first, ...rest] = events;
    response.write(first);
    await this.pause;
    for (const event of rest) response.write(event);
    response.end();
  }
}

function limitOf(body: Json): number {
  const { maxOutputTokens } = (body["generationConfig"] ?? {}) as Json;
  const { max_completion_tokens: completion, max_output_tokens: output, max_tokens: tokens } = body;
  return Number(tokens ?? completion ?? output ?? maxOutputTokens);
}

function sse(data: object | string): string {
  const type = typeof data === "object" && "type" in data ? `event: ${String(data.type)}\n` : "";
  return `${type}data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`;
}

function replyOf(path: string, body: Json, reported: Reported) {
  const model = String(body["model"] ?? /models\/([^:]+):/.exec(path)?.[1]);
  if (path.endsWith("/messages")) return anthropic(model, reported);
  if (path.endsWith("/responses")) return responses(model, reported);
  if (path.endsWith("/chat/completions")) return chat(model, body, reported);
  return gemini(model, reported);
}

const words = ["Hello ", "from the ", "provider."];

function anthropic(model: string, { cached = 0, completion, prompt }: Reported) {
  const usage = {
    input_tokens: prompt - cached,
    cache_read_input_tokens: cached,
    cache_creation_input_tokens: 0,
    output_tokens: completion,
  };
  const message = { id: "msg_1", type: "message", role: "assistant", model };
  const end = { stop_reason: "end_turn", stop_sequence: null };
  const content = [{ type: "text", text: words.join("") }];
  const events = [
    {
      type: "message_start",
      message: { ...message, content: [], usage: { ...usage, output_tokens: 1 } },
    },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    ...words.map((text) => ({
      type: "content_block_delta",
      index: 0,
      delta: { type: "text_delta", text },
    })),
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: end, usage: { output_tokens: completion } },
    { type: "message_stop" },
  ].map(sse);
  return { events, whole: { ...message, content, usage, ...end } };
}

function responses(model: string, { cached = 0, completion, prompt }: Reported) {
  const text = words.join("");
  const part = { type: "output_text", text, annotations: [] };
  const item = {
    type: "message",
    id: "i0",
    role: "assistant",
    status: "completed",
    content: [part],
  };
  const usage = {
    input_tokens: prompt,
    input_tokens_details: { cached_tokens: cached },
    output_tokens: completion,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: prompt + completion,
  };
  const response = { id: "resp_1", object: "response", created_at: 1, model, output: [] };
  const whole = { ...response, status: "completed", output: [item], usage };
  const at = { item_id: "i0", output_index: 0, content_index: 0 };
  const events = [
    { type: "response.created", response: { ...response, status: "in_progress" } },
    { type: "response.output_item.added", output_index: 0, item: { ...item, content: [] } },
    { type: "response.content_part.added", ...at, part: { ...part, text: "" } },
    ...words.map((delta) => ({ type: "response.output_text.delta", ...at, delta })),
    { type: "response.output_text.done", ...at, text },
    { type: "response.content_part.done", ...at, part },
    { type: "response.output_item.done", output_index: 0, item },
    { type: "response.completed", response: whole },
  ].map((event, sequence_number) => sse({ ...event, sequence_number }));
  return { events, whole };
}

function chat(model: string, body: Json, { cached = 0, completion, prompt }: Reported) {
  const usage = {
    prompt_tokens: prompt,
    prompt_tokens_details: { cached_tokens: cached },
    completion_tokens: completion,
    total_tokens: prompt + completion,
  };
  const base = { id: "c1", object: "chat.completion.chunk", created: 1, model };
  const message = { role: "assistant", content: words.join("") };
  const choice = (delta: object, finish_reason: string | null = null) => [
    { index: 0, delta, finish_reason },
  ];
  const options = body["stream_options"] as { include_usage?: boolean } | undefined;
  const events = [
    ...words.map((content) => sse({ ...base, choices: choice({ content }) })),
    sse({ ...base, choices: choice({}, "stop") }),
    ...(options?.include_usage ? [sse({ ...base, choices: [], usage })] : []),
    sse("[DONE]"),
  ];
  const choices = [{ index: 0, message, finish_reason: "stop" }];
  return { events, whole: { ...base, object: "chat.completion", choices, usage } };
}

function gemini(model: string, { cached = 0, completion, prompt }: Reported) {
  const usageMetadata = {
    promptTokenCount: prompt,
    candidatesTokenCount: completion,
    cachedContentTokenCount: cached,
    totalTokenCount: prompt + completion,
  };
  const event = (text: string, more: object = {}) => ({
    candidates: [{ index: 0, content: { role: "model", parts: [{ text }] }, ...more }],
    modelVersion: model,
    usageMetadata,
  });
  const events = words.map((text, index) =>
    sse(event(text, index === words.length - 1 ? { finishReason: "STOP" } : {})),
  );
  return { events, whole: event(words.join(""), { finishReason: "STOP" }) };
}

/** The real keys, which no program may see. */
export const realKeys = {
  ANTHROPIC_API_KEY: "sk-real-anthropic-key",
  OPENAI_API_KEY: "sk-real-openai-key",
  GEMINI_API_KEY: "real-google-key",
  OPENROUTER_API_KEY: "sk-real-openrouter-key",
};

export function environmentFor({ url }: MockProvider): Readonly<Record<string, string>> {
  return {
    ...realKeys,
    ANTHROPIC_BASE_URL: `${url}/v1`,
    OPENAI_BASE_URL: `${url}/v1`,
    GOOGLE_GENERATIVE_AI_BASE_URL: `${url}/v1beta`,
    OPENROUTER_BASE_URL: `${url}/v1`,
  };
}
