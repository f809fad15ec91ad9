import { bearer, errorBody, imageTokens, listModels, usageFrom } from "./openai-parts.ts";
import {
  bytesOf,
  checkFields,
  eventOf,
  type Fields,
  isInline,
  isStream,
  type Json,
  limitIn,
  modelIn,
  notGranted,
  objectIn,
  objectsIn,
  only,
  partOf,
  requireNetwork,
  textIn,
  type WireAnswer,
  type WireProtocol,
  type WireStream,
  without,
} from "./wire-protocol.ts";

/** OpenAI Chat Completions, as OpenAI and many others serve it. */
export const chatWire: WireProtocol = {
  name: "openai-chat",
  provider: "openai",
  kinds: ["openai", "openai-chat", "openai-compatible"],
  read(body, _route, grants) {
    let addedTokens = 0;
    const content = (value: unknown, where: string): void => {
      if (typeof value === "string") return;
      for (const [index, part] of objectsIn(value, where).entries()) {
        const name = `${where}[${index}]`;
        const type = textIn(part["type"]);
        const fields = Object.hasOwn(partFields, type) ? partFields[type] : undefined;
        if (fields === undefined) throw notGranted(`${name} of type ${JSON.stringify(type)}`);
        checkFields(part, fields, name);
        if (type !== "image_url") continue;
        const image = objectIn(part["image_url"], `${name}.image_url`);
        if (!isInline(image["url"])) throw notGranted(`${name} by its address`);
        addedTokens += imageTokens;
      }
    };
    checkFields(body, {
      ...harmless,
      messages: (value, where) => {
        for (const [index, message] of objectsIn(value, where).entries()) {
          checkFields(message, { ...ofMessage, content }, `${where}[${index}]`);
        }
      },
      web_search_options: (_value, where) => requireNetwork(where, grants),
    });
    const limits = [body["max_tokens"], body["max_completion_tokens"]].flatMap(
      (value, index) => limitIn(value, ["max_tokens", "max_completion_tokens"][index] ?? "") ?? [],
    );
    const isStreaming = isStream(body["stream"]);
    return {
      model: modelIn(body["model"]),
      isStreaming,
      maxOutput: limits.length === 0 ? null : Math.min(...limits),
      addedTokens,
      mustBeCounted: false,
      writesLongCache: false,
      hidesOutput: (model) =>
        thoughts.some((name) => body[name] !== undefined && body[name] !== null) ||
        thinking.test(model),
      body: ({ kind, maxOutput, model }) => ({
        ...without(body, "max_tokens", "max_completion_tokens", "service_tier", "stream_options"),
        ...(body["store"] !== undefined && { store: false }),
        ...(body["service_tier"] !== undefined && { service_tier: "default" }),
        ...(isStreaming && {
          stream_options: { ...partOf(body["stream_options"]), include_usage: true },
        }),
        model,
        // Other servers may ignore the newer name, and models of OpenAI refuse the older one.
        [kind === "openai-compatible" || (body["max_tokens"] ?? null) !== null
          ? "max_tokens"
          : "max_completion_tokens"]: maxOutput,
      }),
      countBody: () => undefined,
    };
  },
  path: () => "/chat/completions",
  headers: bearer,
  answerIn(body) {
    const [choice] = objectsIn(body["choices"], "choices");
    return {
      served: typeof body["model"] === "string" ? body["model"] : null,
      usage: usageFrom(partOf(body["usage"]), "prompt_tokens", "completion_tokens"),
      finish: textIn(choice?.["finish_reason"]),
      text: textIn(partOf(choice?.["message"])["content"]),
    };
  },
  stream: (request) => new ChatStream(partOf(request["stream_options"])["include_usage"] === true),
  countIn: () => undefined,
  refusal: errorBody,
  refusalEvent: (refusal) => eventOf(errorBody(refusal)),
  models: listModels,
};

const thoughts = ["reasoning", "reasoning_effort", "thinking", "enable_thinking"];
/** Models whose thoughts their providers do not send as they are, on every server. */
const thinking = /(?:^|\/)(?:o\d|gpt-[5-9]|codex|gemini-(?!1|2\.0)|claude|grok)/;

/** What is kept for an hour costs more to write, and the price of that is not known here. */
const cache_control = (value: unknown, where: string): void =>
  checkFields(objectIn(value, where), { type: true, ttl: only("5m") }, where);

const partFields: Readonly<Record<string, Fields>> = {
  text: { type: true, text: true, cache_control },
  refusal: { type: true, refusal: true },
  image_url: { type: true, image_url: true, cache_control },
};

const ofMessage: Fields = {
  ...{ role: true, name: true, tool_calls: true, tool_call_id: true, function_call: true },
  ...{ refusal: true, reasoning: true, reasoning_content: true, reasoning_details: true },
  ...{ annotations: true, cache_control },
};

/** A price for an hour in the cache is not known here: nothing of it is passed on. */
const harmless: Fields = {
  ...{
    model: true,
    max_tokens: true,
    max_completion_tokens: true,
    stream: true,
    temperature: true,
  },
  ...{ top_p: true, top_k: true, min_p: true, stop: true, seed: true, user: true, metadata: true },
  ...{ frequency_penalty: true, presence_penalty: true, repetition_penalty: true },
  ...{ logit_bias: true, logprobs: true, top_logprobs: true, response_format: true },
  ...{ parallel_tool_calls: true, tool_choice: true, functions: true, function_call: true },
  ...{ reasoning_effort: true, reasoning: true, thinking: true, enable_thinking: true },
  ...{ chat_template_kwargs: true, verbosity: true, safety_identifier: true },
  ...{ prompt_cache_key: true, prompt_cache_retention: true },
  n: only(1),
  store: only(false),
  service_tier: only("auto", "default", "flex"),
  modalities: (value, where) => {
    if (JSON.stringify(value) !== '["text"]') throw notGranted(where);
  },
  stream_options: (value, where) =>
    checkFields(objectIn(value, where), { include_usage: true, include_obfuscation: true }, where),
  tools: (value, where) => {
    for (const [index, tool] of objectsIn(value, where).entries()) {
      const type = textIn(tool["type"]);
      if (type !== "function" && type !== "custom") {
        throw notGranted(`${where}[${index}] of type ${JSON.stringify(type)}`);
      }
      const fields = { type: true, function: true, custom: true, cache_control } as const;
      checkFields(tool, fields, `${where}[${index}]`);
    }
  },
};

class ChatStream implements WireStream {
  received = 0;
  isComplete = false;
  readonly #isUsageAsked: boolean;
  #served: string | null = null;
  #usage: Json = {};
  #finish = "";
  #text = "";

  constructor(isUsageAsked: boolean) {
    this.#isUsageAsked = isUsageAsked;
  }

  see(event: Json): boolean {
    if (typeof event["model"] === "string") this.#served = event["model"];
    const choices = objectsIn(event["choices"], "choices");
    for (const choice of choices) {
      const delta = partOf(choice["delta"]);
      this.received += bytesOf(delta["content"], delta["reasoning"], delta["reasoning_content"]);
      this.#text += textIn(delta["content"]);
      for (const call of objectsIn(delta["tool_calls"], "tool_calls")) {
        const { arguments: input, name } = partOf(call["function"]);
        this.received += bytesOf(input, name);
      }
      if (typeof choice["finish_reason"] === "string") {
        this.#finish = choice["finish_reason"];
        this.isComplete = true;
      }
    }
    const usage = event["usage"];
    if (typeof usage !== "object" || usage === null) return true;
    this.#usage = partOf(usage);
    return choices.length > 0 || this.#isUsageAsked;
  }

  get answer(): WireAnswer {
    const usage = usageFrom(this.#usage, "prompt_tokens", "completion_tokens");
    return { served: this.#served, usage, finish: this.#finish, text: this.#text };
  }
}
