import { connect } from "node:net";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ofType } from "../../testing/engine-fixture.ts";
import { realKeys } from "../../testing/mock-provider.test-support.ts";
import { type GatewayScene, openScene } from "./gateway.test-support.ts";

let scene: GatewayScene;
beforeAll(async () => {
  scene = await openScene({ maxCost: 5 });
});
afterAll(() => scene[Symbol.asyncDispose]());

const hi = [{ role: "user", content: "hi" }];
const messages = { model: "claude-sonnet-4-5", max_tokens: 100, messages: hi };
const chat = { model: "gpt-4.1", messages: hi };
const responses = { model: "gpt-4.1", input: "hi" };
const gemini = { contents: [{ role: "user", parts: [{ text: "hi" }] }] };
const anthropic = "/anthropic/v1/messages";
const completions = "/openai/v1/chat/completions";
const answers = "/openai/v1/responses";
const generate = "/google/v1beta/models/gemini-2.5-flash:generateContent";

/** What must not reach a provider. `[what, path, body]` */
const refusedBodies: readonly (readonly [string, string, unknown])[] = [
  // Numbers
  ["a negative limit", anthropic, { ...messages, max_tokens: -1 }],
  ["a limit of zero", anthropic, { ...messages, max_tokens: 0 }],
  ["a limit that is a text", anthropic, { ...messages, max_tokens: "100" }],
  ["a fraction", anthropic, { ...messages, max_tokens: 1.5 }],
  [
    "a limit beyond all numbers",
    anthropic,
    '{"model":"claude-sonnet-4-5","max_tokens":1e400,"messages":[]}',
  ],
  ["a limit beyond exact numbers", completions, { ...chat, max_tokens: 1e20 }],
  ["no limit, where one is required", anthropic, { ...messages, max_tokens: undefined }],
  ["a negative second limit", completions, { ...chat, max_completion_tokens: -5 }],
  [
    "a negative limit in another spelling",
    generate,
    { ...gemini, generation_config: { max_output_tokens: -1 } },
  ],
  [
    "one field in two spellings",
    generate,
    { ...gemini, generationConfig: {}, generation_config: {} },
  ],
  ["several answers", completions, { ...chat, n: 2 }],
  ["several candidates", generate, { ...gemini, generationConfig: { candidateCount: 3 } }],
  [
    "several candidates in another spelling",
    generate,
    { ...gemini, generation_config: { candidate_count: 3 } },
  ],
  // Names of models
  ["a model that leaves the path", anthropic, { ...messages, model: "../../admin" }],
  ["a model with a query", anthropic, { ...messages, model: "claude?x=1" }],
  ["a model with a line break", anthropic, { ...messages, model: "claude\r\nx-api-key: 1" }],
  ["a model of other letters", anthropic, { ...messages, model: "clаude-sonnet-4-5" }],
  ["a list of models", completions, { ...chat, model: ["gpt-4.1"] }],
  ["no model", completions, { messages: hi }],
  ["a very long model", completions, { ...chat, model: "g".repeat(10_000) }],
  // Tools of the provider
  [
    "web search",
    anthropic,
    { ...messages, tools: [{ type: "web_search_20250305", name: "web_search" }] },
  ],
  [
    "web fetch",
    anthropic,
    { ...messages, tools: [{ type: "web_fetch_20250910", name: "web_fetch" }] },
  ],
  [
    "code execution",
    anthropic,
    { ...messages, tools: [{ type: "code_execution_20250522", name: "x" }] },
  ],
  [
    "computer use",
    anthropic,
    { ...messages, tools: [{ type: "computer_20250124", name: "computer" }] },
  ],
  [
    "a tool called by code of the provider",
    anthropic,
    {
      ...messages,
      tools: [{ name: "t", input_schema: {}, allowed_callers: ["code_execution_20250825"] }],
    },
  ],
  [
    "remote MCP",
    anthropic,
    { ...messages, mcp_servers: [{ type: "url", url: "https://example.com", name: "x" }] },
  ],
  ["a container", anthropic, { ...messages, container: "container_1" }],
  ["fast mode", anthropic, { ...messages, speed: "fast" }],
  ["a dearer place", anthropic, { ...messages, inference_geo: "us" }],
  [
    "compaction",
    anthropic,
    { ...messages, context_management: { edits: [{ type: "compact_20260112" }] } },
  ],
  ["a field that does not exist yet", anthropic, { ...messages, future_mode: true }],
  ["web search of OpenAI", answers, { ...responses, tools: [{ type: "web_search" }] }],
  [
    "file search",
    answers,
    { ...responses, tools: [{ type: "file_search", vector_store_ids: ["v"] }] },
  ],
  [
    "a code interpreter",
    answers,
    { ...responses, tools: [{ type: "code_interpreter", container: { type: "auto" } }] },
  ],
  ["pictures that are made", answers, { ...responses, tools: [{ type: "image_generation" }] }],
  [
    "remote MCP of OpenAI",
    answers,
    { ...responses, tools: [{ type: "mcp", server_url: "https://example.com" }] },
  ],
  [
    "a shell of the provider",
    answers,
    { ...responses, tools: [{ type: "shell", environment: { type: "container_auto" } }] },
  ],
  [
    "a hosted tool inside a namespace",
    answers,
    { ...responses, tools: [{ type: "namespace", name: "n", tools: [{ type: "file_search" }] }] },
  ],
  ["work in the background", answers, { ...responses, background: true }],
  ["a stored answer", answers, { ...responses, store: true }],
  ["an earlier answer", answers, { ...responses, previous_response_id: "resp_1" }],
  ["a stored conversation", answers, { ...responses, conversation: "conv_1" }],
  ["a stored prompt", answers, { ...responses, prompt: { id: "pmpt_1" } }],
  [
    "a reference to a stored item",
    answers,
    { ...responses, input: [{ type: "item_reference", id: "i" }] },
  ],
  ["a dearer tier", answers, { ...responses, service_tier: "priority" }],
  ["search in a chat", completions, { ...chat, web_search_options: {} }],
  ["sound", completions, { ...chat, modalities: ["text", "audio"], audio: { voice: "a" } }],
  ["a prediction", completions, { ...chat, prediction: { type: "content", content: "x" } }],
  [
    "an hour in the cache, in a part of a message",
    completions,
    {
      ...chat,
      messages: [
        {
          role: "user",
          content: [{ type: "text", text: "hi", cache_control: { type: "ephemeral", ttl: "1h" } }],
        },
      ],
    },
  ],
  [
    "an hour in the cache, at a message",
    completions,
    { ...chat, messages: [{ ...hi[0], cache_control: { type: "ephemeral", ttl: "1h" } }] },
  ],
  [
    "an hour in the cache, at a tool",
    completions,
    {
      ...chat,
      tools: [
        {
          type: "function",
          function: { name: "f" },
          cache_control: { type: "ephemeral", ttl: "1h" },
        },
      ],
    },
  ],
  [
    "a file beside a text",
    completions,
    {
      ...chat,
      messages: [
        {
          role: "user",
          content: [{ type: "text", text: "hi", file: { file_id: "f" } }],
        },
      ],
    },
  ],
  [
    "a tool of the program that code of the provider calls",
    anthropic,
    {
      ...messages,
      tools: [
        { type: "bash_20250124", name: "bash", allowed_callers: ["code_execution_20250825"] },
      ],
    },
  ],
  ["plugins", completions, { ...chat, plugins: [{ id: "web" }] }],
  ["other models behind the first", completions, { ...chat, models: ["openai/gpt-4o"] }],
  ["search of Google", generate, { ...gemini, tools: [{ googleSearch: {} }] }],
  ["search in another spelling", generate, { ...gemini, tools: [{ google_search: {} }] }],
  ["code execution of Google", generate, { ...gemini, tools: [{ codeExecution: {} }] }],
  ["content kept in a cache", generate, { ...gemini, cachedContent: "cachedContents/1" }],
  [
    "content kept in a cache, spelled otherwise",
    generate,
    { ...gemini, cached_content: "cachedContents/1" },
  ],
  [
    "pictures as an answer",
    generate,
    { ...gemini, generationConfig: { responseModalities: ["IMAGE"] } },
  ],
  // What the provider would load
  [
    "an image by its address",
    anthropic,
    {
      ...messages,
      messages: [
        {
          role: "user",
          content: [
            { type: "image", source: { type: "url", url: "https://example.com/?q=secret" } },
          ],
        },
      ],
    },
  ],
  [
    "an image in the result of a tool",
    anthropic,
    {
      ...messages,
      messages: [
        {
          role: "user",
          content: [
            {
              type: "tool_result",
              tool_use_id: "t",
              content: [{ type: "image", source: { type: "url", url: "https://example.com" } }],
            },
          ],
        },
      ],
    },
  ],
  [
    "a stored file",
    anthropic,
    {
      ...messages,
      messages: [
        { role: "user", content: [{ type: "document", source: { type: "file", file_id: "f" } }] },
      ],
    },
  ],
  [
    "an image of a chat by its address",
    completions,
    {
      ...chat,
      messages: [
        {
          role: "user",
          content: [{ type: "image_url", image_url: { url: "https://example.com" } }],
        },
      ],
    },
  ],
  [
    "an image of an answer by its address",
    answers,
    {
      ...responses,
      input: [
        { role: "user", content: [{ type: "input_image", image_url: "https://example.com" }] },
      ],
    },
  ],
  [
    "a file by its address",
    answers,
    {
      ...responses,
      input: [{ role: "user", content: [{ type: "input_file", file_url: "https://example.com" }] }],
    },
  ],
  [
    "a file of Google",
    generate,
    { contents: [{ parts: [{ fileData: { fileUri: "https://example.com" } }] }] },
  ],
  [
    "a file of Google, spelled otherwise",
    generate,
    { contents: { parts: { file_data: { file_uri: "https://example.com" } } } },
  ],
  [
    "a file in the result of a function",
    generate,
    {
      contents: [
        { parts: [{ functionResponse: { name: "f", parts: [{ fileData: { fileUri: "x" } }] } }] },
      ],
    },
  ],
  // What cannot be read
  ["no JSON", anthropic, "{"],
  ["a list", anthropic, "[]"],
  ["null", anthropic, "null"],
  ["a body nested without end", anthropic, `{"a":${"[".repeat(100_000)}${"]".repeat(100_000)}}`],
  ["messages that are a text", completions, { ...chat, messages: "hi" }],
  ["a stream that is a text", completions, { ...chat, stream: "true" }],
];

describe("a hostile body", () => {
  for (const [what, path, body] of refusedBodies) {
    it(`is not sent: ${what}`, async () => {
      const before = scene.provider.asked.length;
      const answer = await scene.post(path, body);
      const text = await answer.text();
      expect([answer.status, text]).toEqual([400, expect.stringMatching(/"error"/)]);
      expect(answer.headers.get("x-should-retry") ?? "false").toBe("false");
      expect(scene.provider.asked).toHaveLength(before);
    });
  }

  it("has one meaning, although its keys are given twice", async () => {
    const twice =
      '{"model":"x","max_tokens":1,"max_tokens":50,"messages":[],"model":"claude-sonnet-4-5","__proto__":null}';
    expect((await scene.post(anthropic, twice)).status).toBe(200);
    expect(scene.provider.asked.at(-1)?.body).toMatchObject({
      model: "claude-sonnet-4-5",
      max_tokens: 50,
    });
  });

  it("is not read when it is compressed, of another type, or too large", async () => {
    const send = (body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string>) =>
      fetch(`${scene.url}${anthropic}`, {
        method: "POST",
        headers: { "x-api-key": scene.token, "content-type": "application/json", ...headers },
        body,
      });
    const body = JSON.stringify(messages);
    const compressed = new Uint8Array(gzipSync(body));
    expect((await send(compressed, { "content-encoding": "gzip" })).status).toBe(415);
    expect((await send(body, { "content-type": "text/plain" })).status).toBe(415);
    expect((await send(new Uint8Array([0x22, 0xff, 0x22]), {})).status).toBe(400);
    const large = await raw(
      `POST ${anthropic} HTTP/1.1\r\nhost: HOST\r\nx-api-key: TOKEN\r\ncontent-type: application/json\r\ncontent-length: 99999999\r\n\r\n{`,
    );
    expect(large).toMatch(/^HTTP\/1\.1 413/);
  });
});

/** Sends bytes as they are, and gives what comes back. */
function raw(text: string): Promise<string> {
  const { host, port } = new URL(scene.url);
  const bytes = text.replaceAll("HOST", host).replaceAll("TOKEN", scene.token);
  return new Promise((resolve) => {
    let back = "";
    const socket = connect(Number(port), "127.0.0.1", () => socket.write(bytes));
    socket.on("data", (chunk) => {
      back += chunk;
      if (/^HTTP\/1\.1 [2-5]/.test(back)) socket.end();
    });
    socket.on("close", () => resolve(back));
    // The rest of a refused request is not read.
    socket.on("error", () => resolve(back));
    socket.setTimeout(5000, () => socket.destroy());
  });
}

const body = JSON.stringify(messages);
const length = `content-length: ${Buffer.byteLength(body)}`;
const head = "host: HOST\r\nx-api-key: TOKEN\r\ncontent-type: application/json";

/** Requests as no client of a provider sends them. `[what, bytes, status]` */
const refusedRequests: readonly (readonly [string, string, RegExp])[] = [
  [
    "another host",
    `POST ${anthropic} HTTP/1.1\r\nhost: evil.example\r\nx-api-key: TOKEN\r\ncontent-type: application/json\r\n${length}\r\n\r\n${body}`,
    /403/,
  ],
  [
    "two hosts",
    `POST ${anthropic} HTTP/1.1\r\nhost: HOST\r\nhost: HOST\r\nx-api-key: TOKEN\r\n${length}\r\n\r\n${body}`,
    /400|403/,
  ],
  ["no host", `POST ${anthropic} HTTP/1.1\r\nx-api-key: TOKEN\r\n${length}\r\n\r\n${body}`, /400/],
  [
    "a page",
    `POST ${anthropic} HTTP/1.1\r\n${head}\r\norigin: http://HOST\r\n${length}\r\n\r\n${body}`,
    /403/,
  ],
  [
    "a page that hides its origin",
    `POST ${anthropic} HTTP/1.1\r\n${head}\r\nsec-fetch-site: cross-site\r\n${length}\r\n\r\n${body}`,
    /403/,
  ],
  [
    "two lengths",
    `POST ${anthropic} HTTP/1.1\r\n${head}\r\n${length}\r\ncontent-length: 5\r\n\r\n${body}`,
    /400/,
  ],
  [
    "a length and chunks",
    `POST ${anthropic} HTTP/1.1\r\n${head}\r\n${length}\r\ntransfer-encoding: chunked\r\n\r\n${body}`,
    /400/,
  ],
  [
    "a folded header",
    `POST ${anthropic} HTTP/1.1\r\n${head}\r\nx-a: b\r\n c: d\r\n${length}\r\n\r\n${body}`,
    /400/,
  ],
  [
    "a header with a bare line feed",
    `POST ${anthropic} HTTP/1.1\n${head}\nx-api-key: x\n\n${body}`,
    /40\d/,
  ],
  [
    "endless headers",
    `POST ${anthropic} HTTP/1.1\r\n${head}\r\nx-a: ${"a".repeat(100_000)}\r\n\r\n`,
    /431|^$/,
  ],
  [
    "an absolute address",
    `POST http://api.anthropic.com/v1/messages HTTP/1.1\r\n${head}\r\n${length}\r\n\r\n${body}`,
    /404/,
  ],
  ["a tunnel", "CONNECT api.anthropic.com:443 HTTP/1.1\r\nhost: HOST\r\n\r\n", /^$/],
  [
    "a websocket",
    `GET /openai/v1/responses HTTP/1.1\r\n${head}\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-key: a\r\n\r\n`,
    /^$/,
  ],
  [
    "two tokens",
    `POST ${anthropic} HTTP/1.1\r\n${head}\r\nauthorization: Bearer other\r\n${length}\r\n\r\n${body}`,
    /401/,
  ],
  [
    "one token twice",
    `POST ${anthropic} HTTP/1.1\r\n${head}\r\nx-api-key: other\r\n${length}\r\n\r\n${body}`,
    /401/,
  ],
  [
    "an empty token",
    `POST ${anthropic} HTTP/1.1\r\nhost: HOST\r\nx-api-key:\r\n${length}\r\n\r\n${body}`,
    /401/,
  ],
  [
    "the beginning of a token",
    `POST ${anthropic} HTTP/1.1\r\nhost: HOST\r\nx-api-key: mandate-gateway-\r\n${length}\r\n\r\n${body}`,
    /401/,
  ],
  [
    "the real key",
    `POST ${anthropic} HTTP/1.1\r\nhost: HOST\r\nx-api-key: ${realKeys.ANTHROPIC_API_KEY}\r\n${length}\r\n\r\n${body}`,
    /401/,
  ],
  [
    "the token in the address",
    `POST ${generate}?key=TOKEN HTTP/1.1\r\nhost: HOST\r\ncontent-length: 2\r\n\r\n{}`,
    /401/,
  ],
  [
    "a path with a double slash",
    `POST //anthropic/v1/messages HTTP/1.1\r\n${head}\r\n${length}\r\n\r\n${body}`,
    /404/,
  ],
  [
    "a path that climbs",
    `POST /anthropic/v1/../v1/messages HTTP/1.1\r\n${head}\r\n${length}\r\n\r\n${body}`,
    /404/,
  ],
  [
    "a path that climbs in code",
    `POST /anthropic/v1/%2e%2e/messages HTTP/1.1\r\n${head}\r\n${length}\r\n\r\n${body}`,
    /404/,
  ],
  [
    "a path with code",
    `POST /anthropic/v1/%6dessages HTTP/1.1\r\n${head}\r\n${length}\r\n\r\n${body}`,
    /404/,
  ],
  [
    "a path with a parameter",
    `POST ${anthropic};x=1 HTTP/1.1\r\n${head}\r\n${length}\r\n\r\n${body}`,
    /404/,
  ],
  [
    "an unknown query",
    `POST ${anthropic}?model=other HTTP/1.1\r\n${head}\r\n${length}\r\n\r\n${body}`,
    /404/,
  ],
  [
    "a model that climbs out of a path",
    `POST /google/v1beta/models/..:generateContent HTTP/1.1\r\n${head}\r\ncontent-length: 2\r\n\r\n{}`,
    /400/,
  ],
  [
    "a stream that is no stream of events",
    "POST /google/v1beta/models/gemini-2.5-flash:streamGenerateContent HTTP/1.1\r\nhost: HOST\r\nx-api-key: TOKEN\r\ncontent-length: 2\r\n\r\n{}",
    /404/,
  ],
  ["files", `POST /anthropic/v1/files HTTP/1.1\r\n${head}\r\n${length}\r\n\r\n${body}`, /404/],
  [
    "batches",
    `POST /anthropic/v1/messages/batches HTTP/1.1\r\n${head}\r\n${length}\r\n\r\n${body}`,
    /404/,
  ],
  [
    "a batch of OpenAI",
    `POST /openai/v1/batches HTTP/1.1\r\n${head}\r\n${length}\r\n\r\n${body}`,
    /404/,
  ],
  [
    "embeddings",
    `POST /openai/v1/embeddings HTTP/1.1\r\n${head}\r\n${length}\r\n\r\n${body}`,
    /404/,
  ],
  ["a stored answer", `GET /openai/v1/responses/resp_1 HTTP/1.1\r\n${head}\r\n\r\n`, /404/],
  ["another method", `DELETE ${anthropic} HTTP/1.1\r\n${head}\r\n\r\n`, /404/],
  [
    "a preflight",
    `OPTIONS ${anthropic} HTTP/1.1\r\nhost: HOST\r\norigin: http://a.example\r\naccess-control-request-method: POST\r\n\r\n`,
    /403/,
  ],
  ["no HTTP", "hello\r\n\r\n", /400/],
];

describe("a hostile request", () => {
  for (const [what, bytes, status] of refusedRequests) {
    it(`is refused: ${what}`, async () => {
      const before = scene.provider.asked.length;
      const [line = ""] = (await raw(bytes)).split("\r\n", 1);
      expect(line.replace(/^HTTP\/1\.1 /, "")).toMatch(status);
      expect(scene.provider.asked).toHaveLength(before);
    });
  }

  it("smuggles no header to the provider, and no trailer", async () => {
    const chunked = `${Buffer.byteLength(body).toString(16)}\r\n${body}\r\n0\r\nx-api-key: trailer\r\n\r\n`;
    const extra =
      "anthropic-beta: code-execution-2025-05-22,prompt-caching-2024-07-31\r\nx-forwarded-for: 1.2.3.4\r\ncookie: a=b\r\nanthropic-version: 1\r\nuser-agent: me\r\nx-stainless-os: Linux";
    const back = await raw(
      `POST ${anthropic} HTTP/1.1\r\n${head}\r\n${extra}\r\ntransfer-encoding: chunked\r\n\r\n${chunked}`,
    );
    expect(back).toMatch(/^HTTP\/1\.1 200/);
    const { host: _host, ...headers } = scene.provider.asked.at(-1)?.headers ?? {};
    expect(headers).toEqual({
      accept: "application/json",
      "accept-encoding": "identity",
      "anthropic-beta": "prompt-caching-2024-07-31",
      "anthropic-version": "2023-06-01",
      connection: "keep-alive",
      "content-length": expect.any(String),
      "content-type": "application/json",
      "user-agent": "mandate-gateway",
      "x-api-key": realKeys.ANTHROPIC_API_KEY,
    });
  });

  it("behind another on one connection is answered for its own token", async () => {
    const one = `POST ${anthropic} HTTP/1.1\r\n${head}\r\n${length}\r\n\r\n${body}`;
    const other = one.replace("TOKEN", "another");
    const before = scene.provider.asked.length;
    expect(await raw(one + other)).toMatch(/^HTTP\/1\.1 200/);
    expect(scene.provider.asked.length - before).toBe(1);
  });

  it("with the token of another delegation spends from that one, and not after its end", async () => {
    const { gateway, token } = await scene.open({ client: "other" });
    const headers = { "x-api-key": token };
    expect((await scene.post(anthropic, messages, headers)).status).toBe(200);
    const events = await scene.engine.events(gateway.session.runId);
    expect(ofType(events, "agent.model_turn")).toHaveLength(1);
    await gateway.session.end({ said: "over" });
    const before = scene.provider.asked.length;
    const late = await scene.post(anthropic, messages, headers);
    expect([late.status, await late.text()]).toEqual([400, expect.stringMatching(/has ended/)]);
    expect(scene.provider.asked).toHaveLength(before);
  });

  it("leaves no token and no key in the log of the server, or of the run", async () => {
    const events = JSON.stringify(await scene.engine.events(scene.gateway.session.runId));
    const said = events + JSON.stringify(scene.log);
    for (const secret of [scene.token, ...Object.values(realKeys)])
      expect(said).not.toContain(secret);
    // A loop of refusals does not fill the log.
    expect(events.split("agent.request_refused").length).toBeLessThan(110);
  });
});

describe("what a contract grants beyond tokens", () => {
  const search = { ...messages, tools: [{ type: "web_search_20250305", name: "web_search" }] };

  it("lets requests search where network is granted, and no cap in dollars has to hold the fees", async () => {
    const granted = await scene.open({ network: true, maxCost: undefined });
    const capped = await scene.open({ network: true, maxCost: 5 });
    scene.provider.count = 200;
    const ask = async ({ token }: { token: string }) =>
      (await scene.post(anthropic, search, { "x-api-key": token })).status;
    expect(await ask(granted)).toBe(200);
    expect(await ask(capped)).toBe(400);
    scene.provider.count = undefined;
    // Only the provider can say how many tokens that is.
    expect(await ask(granted)).toBe(400);
  });
});
