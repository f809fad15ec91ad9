import type { ModelUsage } from "../../ports/model.ts";
import {
  bytesOf,
  checkFields,
  countOf,
  eventOf,
  type Fields,
  isStream,
  type Json,
  limitIn,
  modelIn,
  notGranted,
  Objection,
  objectIn,
  objectsIn,
  only,
  partOf,
  pick,
  requireNetwork,
  textIn,
  type WireAnswer,
  type WireGrants,
  type WireProtocol,
  type WireRefusal,
  type WireStream,
  without,
} from "./wire-protocol.ts";

/** More than any image of this protocol is billed as. */
const imageTokens = 5000;
/** More than the description of a tool that the provider itself describes. */
const toolTokens = 1500;

/** Betas that change neither who is reached nor what a token costs. */
const betas =
  /^(?:prompt-caching|interleaved-thinking|fine-grained-tool-streaming|claude-code|context-management|token-efficient-tools|output-128k|extended-cache-ttl|context-1m|effort|structured-outputs|token-counting|adaptive-thinking|redact-thinking|max-tokens)-[\w-]{1,40}$/;

/** Anthropic Messages. */
export const anthropicWire: WireProtocol = {
  name: "anthropic",
  provider: "anthropic",
  kinds: ["anthropic"],
  read(body, { action }, grants) {
    const found = new Findings(grants);
    checkFields(body, found.fields);
    const maxOutput = limitIn(body["max_tokens"], "max_tokens");
    if (maxOutput === null && action === "generate") throw new Objection("max_tokens is required.");
    return {
      model: modelIn(body["model"]),
      isStreaming: isStream(body["stream"]),
      maxOutput,
      addedTokens: found.addedTokens + referredTokens(found.references, body["tools"]),
      mustBeCounted: found.mustBeCounted,
      writesLongCache: found.writesLongCache,
      hidesOutput: () => !["", "disabled"].includes(textIn(partOf(body["thinking"])["type"])),
      body: (granted) => ({
        ...without(body, "service_tier"),
        service_tier: "standard_only",
        model: granted.model,
        max_tokens: granted.maxOutput,
        ...thinkingWithin(body["thinking"], granted.maxOutput),
      }),
      countBody: (model) => ({
        ...pick(body, ["messages", "system", "tools", "tool_choice", "thinking"]),
        model,
      }),
    };
  },
  path: ({ action }) => (action === "count" ? "/messages/count_tokens" : "/messages"),
  headers({ apiKey }, client) {
    const version = client("anthropic-version") ?? "";
    const beta = (client("anthropic-beta") ?? "")
      .split(",")
      .map((one) => one.trim())
      .filter((one) => betas.test(one));
    return {
      "anthropic-version": /^\d{4}-\d\d-\d\d$/.test(version) ? version : "2023-06-01",
      ...(beta.length > 0 && { "anthropic-beta": beta.join(",") }),
      ...(apiKey !== undefined && { "x-api-key": apiKey }),
    };
  },
  answerIn(body) {
    const content = objectsIn(body["content"], "content");
    return {
      served: typeof body["model"] === "string" ? body["model"] : null,
      usage: usageIn(partOf(body["usage"])),
      finish: textIn(body["stop_reason"]),
      text: content.map(({ text }) => textIn(text)).join(""),
    };
  },
  stream: () => new AnthropicStream(),
  countIn: (body) => body["input_tokens"],
  refusal: errorBody,
  refusalEvent: (refusal) => eventOf(errorBody(refusal), "error"),
  models: (names) => ({
    data: names.map((id) => ({
      type: "model",
      id,
      display_name: id,
      created_at: "2026-01-01T00:00:00Z",
    })),
    has_more: false,
    first_id: names[0] ?? null,
    last_id: names.at(-1) ?? null,
  }),
};

function errorBody({ isBudget, message, status }: WireRefusal): Json {
  const types: Readonly<Record<number, string>> = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
  };
  const type = isBudget ? "billing_error" : (types[status] ?? "invalid_request_error");
  return { type: "error", error: { type, message } };
}

/** What a body contains that its contract has to grant, or that changes its price. */
class Findings {
  addedTokens = 0;
  mustBeCounted = false;
  /** The names of tools whose descriptions the provider repeats at these places. */
  readonly references: string[] = [];
  writesLongCache = false;
  readonly fields: Fields;
  readonly #grants: WireGrants;
  readonly #blocks: Readonly<Record<string, Fields>>;

  constructor(grants: WireGrants) {
    this.#grants = grants;
    const cache_control = (value: unknown, where: string): void => this.#cache(value, where);
    const content = (value: unknown, where: string): void => this.#content(value, where);
    const network = (_value: unknown, where: string): void => requireNetwork(where, grants);
    const common: Fields = { type: true, cache_control };
    const called: Fields = { ...common, id: true, name: true, input: true, caller: only(null) };
    this.#blocks = {
      text: { ...common, text: true, citations: true },
      image: { ...common, source: (value, where) => this.#image(value, where) },
      document: {
        ...{ ...common, title: true, context: true, citations: true },
        source: (value, where) => this.#document(value, where),
      },
      search_result: { ...common, source: true, title: true, citations: true, content },
      tool_use: { ...called, caller: true },
      tool_result: { ...common, tool_use_id: true, is_error: true, content },
      tool_reference: {
        ...common,
        tool_name: (name) => void this.references.push(textIn(name)),
      },
      thinking: { ...common, thinking: true, signature: true },
      redacted_thinking: { ...common, data: true },
      server_tool_use: { ...called, caller: true, type: network },
      web_search_tool_result: {
        ...common,
        tool_use_id: true,
        content: true,
        type: network,
        caller: true,
      },
      web_fetch_tool_result: {
        ...common,
        tool_use_id: true,
        content: true,
        type: network,
        caller: true,
      },
    };
    this.fields = {
      ...{ model: true, max_tokens: true, stream: true, temperature: true, top_p: true },
      ...{ top_k: true, stop_sequences: true, tool_choice: true, metadata: true },
      ...{ output_config: true, output_format: true, cache_control },
      messages: (value, where) => {
        for (const [index, message] of objectsIn(value, where).entries()) {
          checkFields(message, { role: true, content }, `${where}[${index}]`);
        }
      },
      system: content,
      thinking: (value, where) =>
        checkFields(
          objectIn(value, where),
          { type: true, budget_tokens: true, display: true, block_binding: true },
          where,
        ),
      service_tier: only("auto", "standard_only"),
      speed: only("standard"),
      inference_geo: only("global", "not_available"),
      context_management: (value, where) => {
        for (const edit of objectsIn(objectIn(value, where)["edits"], `${where}.edits`)) {
          // Compaction makes a request of its own.
          if (!/^clear_/.test(textIn(edit["type"]))) throw notGranted(`${where}.edits`);
        }
        checkFields(objectIn(value, where), { edits: true }, where);
      },
      tools: (value, where) => {
        for (const [index, tool] of objectsIn(value, where).entries()) {
          this.#tool(tool, `${where}[${index}]`);
        }
      },
    };
  }

  #content(value: unknown, where: string): void {
    if (typeof value === "string") return;
    for (const [index, block] of objectsIn(value, where).entries()) {
      const name = `${where}[${index}]`;
      const type = textIn(block["type"]);
      const fields = Object.hasOwn(this.#blocks, type) ? this.#blocks[type] : undefined;
      if (fields === undefined) throw notGranted(`${name} of type ${JSON.stringify(type)}`);
      checkFields(block, fields, name);
    }
  }

  #image(value: unknown, where: string): void {
    const source = objectIn(value, where);
    if (source["type"] !== "base64") throw notGranted(`${where} by ${textIn(source["type"])}`);
    this.addedTokens += imageTokens;
  }

  #document(value: unknown, where: string): void {
    const source = objectIn(value, where);
    switch (source["type"]) {
      case "text":
        return;
      case "content":
        this.#content(source["content"], `${where}.content`);
        return;
      case "base64":
        this.mustBeCounted = true;
        return;
      default:
        throw notGranted(`${where} by ${textIn(source["type"])}`);
    }
  }

  #cache(value: unknown, where: string): void {
    const cache = objectIn(value, where);
    checkFields(cache, { type: true, ttl: only("5m", "1h"), scope: true }, where);
    if (cache["ttl"] === "1h") this.writesLongCache = true;
  }

  #tool(tool: Json, where: string): void {
    const type = textIn(tool["type"] ?? "custom");
    const { cache_control: cache } = tool;
    if (cache !== undefined && cache !== null) this.#cache(cache, `${where}.cache_control`);
    if (type === "custom") {
      checkFields(tool, customTool, where);
    } else if (/^(?:bash|text_editor|memory)_\d{8}$/.test(type)) {
      checkFields(tool, { ...customTool, max_characters: true }, where);
      this.addedTokens += toolTokens;
    } else if (/^(?:web_search|web_fetch|computer)_\d{8}$/.test(type)) {
      requireNetwork(`The tool ${type}`, this.#grants);
      this.addedTokens += toolTokens;
      this.mustBeCounted = true;
    } else {
      throw notGranted(`The tool ${JSON.stringify(type)}`);
    }
  }
}

const customTool: Fields = {
  ...{ type: true, name: true, description: true, input_schema: true, cache_control: true },
  ...{ strict: true, defer_loading: true, input_examples: true, eager_input_streaming: true },
  allowed_callers: (value, where) => {
    if (JSON.stringify(value) !== '["direct"]') throw notGranted(where);
  },
};

/** Each reference to a tool becomes its whole description; no token is less than a byte. */
function referredTokens(names: readonly string[], tools: unknown): number {
  if (names.length === 0) return 0;
  const sizes = new Map<string, number>();
  for (const tool of objectsIn(tools, "tools")) {
    sizes.set(textIn(tool["name"]), toolTokens + Buffer.byteLength(JSON.stringify(tool)));
  }
  return names.reduce((sum, name) => sum + (sizes.get(name) ?? toolTokens), 0);
}

/** The least budget for thoughts that the provider accepts. */
const leastThinking = 1024;

function thinkingWithin(thinking: unknown, maxOutput: number): Json {
  const { budget_tokens: budget, type } = partOf(thinking);
  if (type !== "enabled" || typeof budget !== "number" || budget < maxOutput) return {};
  if (maxOutput <= leastThinking) return { thinking: { type: "disabled" } };
  return {
    thinking: {
      ...partOf(thinking),
      budget_tokens: Math.max(leastThinking, Math.floor(maxOutput / 2)),
    },
  };
}

/** Input that comes from a cache, or goes into one, is counted apart from other input. */
function usageIn(usage: Json): ModelUsage | null {
  if (typeof usage["input_tokens"] !== "number") return null;
  const cached = countOf(usage["cache_read_input_tokens"]);
  const cacheWrite = countOf(usage["cache_creation_input_tokens"]);
  return {
    prompt: usage["input_tokens"] + cached + cacheWrite,
    completion: countOf(usage["output_tokens"]),
    cached,
    cacheWrite,
  };
}

class AnthropicStream implements WireStream {
  received = 0;
  isComplete = false;
  #served: string | null = null;
  #usage: Json = {};
  #finish = "";
  #text = "";

  see(event: Json): boolean {
    switch (event["type"]) {
      case "message_start": {
        const message = partOf(event["message"]);
        this.#served = typeof message["model"] === "string" ? message["model"] : null;
        this.#usage = partOf(message["usage"]);
        break;
      }
      case "content_block_delta": {
        const { data, partial_json: input, signature, text, thinking } = partOf(event["delta"]);
        this.received += bytesOf(text, thinking, input, signature, data);
        this.#text += textIn(text);
        break;
      }
      case "message_delta":
        this.#usage = { ...this.#usage, ...partOf(event["usage"]) };
        this.#finish = textIn(partOf(event["delta"])["stop_reason"]) || this.#finish;
        break;
      case "message_stop":
        this.isComplete = true;
        break;
      default:
    }
    return true;
  }

  get answer(): WireAnswer {
    const usage = usageIn(this.#usage);
    return { served: this.#served, usage, finish: this.#finish, text: this.#text };
  }
}
