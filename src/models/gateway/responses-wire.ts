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
  pick,
  requireNetwork,
  textIn,
  type WireAnswer,
  type WireGrants,
  type WireProtocol,
  type WireStream,
  without,
} from "./wire-protocol.ts";

/** OpenAI Responses. */
export const responsesWire: WireProtocol = {
  name: "openai-responses",
  provider: "openai",
  kinds: ["openai"],
  read(body, _route, grants) {
    const found = new Findings(grants);
    checkFields(body, found.fields);
    return {
      model: modelIn(body["model"]),
      isStreaming: isStream(body["stream"]),
      maxOutput: limitIn(body["max_output_tokens"], "max_output_tokens"),
      addedTokens: found.addedTokens,
      mustBeCounted: found.mustBeCounted,
      writesLongCache: false,
      hidesOutput: (model) => !/^gpt-[34]/.test(model),
      body: ({ maxOutput, model }) => ({
        ...without(body, "service_tier"),
        ...(body["service_tier"] !== undefined && { service_tier: "default" }),
        // Absent means that the provider keeps the conversation.
        store: false,
        model,
        max_output_tokens: maxOutput,
      }),
      countBody: (model) => ({
        ...pick(body, ["input", "instructions", "tools", "tool_choice", "reasoning", "text"]),
        model,
      }),
    };
  },
  path: ({ action }) => (action === "count" ? "/responses/input_tokens" : "/responses"),
  headers: bearer,
  answerIn: answerOf,
  stream: () => new ResponsesStream(),
  countIn: (body) => body["input_tokens"],
  refusal: errorBody,
  refusalEvent(refusal) {
    const { error } = errorBody(refusal);
    const { code, message } = partOf(error);
    const response = {
      ...{ id: "resp_refused", object: "response", status: "failed", output: [] },
      error: { code, message },
    };
    return eventOf({ type: "response.failed", sequence_number: 0, response }, "response.failed");
  },
  models: listModels,
};

/** Items of a conversation that are complete in themselves, and refer to nothing that is stored. */
const items: ReadonlySet<string> = new Set([
  ...["message", "reasoning", "compaction", "function_call", "function_call_output"],
  ...["custom_tool_call", "custom_tool_call_output", "local_shell_call", "local_shell_call_output"],
  ...["shell_call", "shell_call_output", "apply_patch_call", "apply_patch_call_output"],
  ...["tool_search_call", "agent_message"],
]);

/** Items that bring further tools of the program into the conversation. */
const toolItems: ReadonlySet<string> = new Set(["additional_tools", "tool_search_output"]);

/** Tools that the program itself carries out. */
const ownTools: ReadonlySet<string> = new Set([
  ...["function", "custom", "local_shell", "apply_patch", "namespace"],
]);

/** More than the description of a tool that the provider itself describes. */
const toolTokens = 1500;

class Findings {
  addedTokens = 0;
  mustBeCounted = false;
  readonly fields: Fields;
  readonly #grants: WireGrants;

  constructor(grants: WireGrants) {
    this.#grants = grants;
    this.fields = {
      ...harmless,
      input: (value, where) => {
        if (typeof value !== "string") this.#items(value, where);
      },
      tools: (value, where) => this.#tools(value, where),
    };
  }

  #items(value: unknown, where: string): void {
    for (const [index, item] of objectsIn(value, where).entries()) {
      const name = `${where}[${index}]`;
      const type = textIn(item["type"] ?? "message");
      if (type === "web_search_call") requireNetwork(name, this.#grants);
      else if (toolItems.has(type)) this.#tools(item["tools"] ?? [], `${name}.tools`);
      else if (!items.has(type)) throw notGranted(`${name} of type ${JSON.stringify(type)}`);
      for (const key of ["content", "output"]) {
        const parts = item[key];
        if (Array.isArray(parts)) this.#parts(parts, `${name}.${key}`);
      }
    }
  }

  #parts(value: unknown, where: string): void {
    for (const [index, part] of objectsIn(value, where).entries()) {
      const name = `${where}[${index}]`;
      const type = textIn(part["type"]);
      switch (type) {
        case "input_text":
        case "output_text":
        case "text":
        case "refusal":
        case "summary_text":
        case "reasoning_text":
        case "encrypted_content":
          break;
        case "input_image":
          if (!isInline(part["image_url"]) || part["file_id"])
            throw notGranted(`${name} by address`);
          this.addedTokens += imageTokens;
          break;
        case "input_file":
          if (part["file_id"] || part["file_url"]) throw notGranted(`${name} by address`);
          this.mustBeCounted = true;
          break;
        default:
          // Output of a shell call has parts without a type.
          if (type !== "" || "file_id" in part || "url" in part) {
            throw notGranted(`${name} of type ${JSON.stringify(type)}`);
          }
      }
    }
  }

  #tools(value: unknown, where: string): void {
    for (const [index, tool] of objectsIn(value, where).entries()) {
      this.#tool(tool, `${where}[${index}]`);
    }
  }

  #tool(tool: Json, where: string): void {
    const type = textIn(tool["type"]);
    if (type === "namespace") this.#tools(tool["tools"], `${where}.tools`);
    else if (type === "tool_search") {
      if (textIn(tool["execution"]) !== "client")
        throw notGranted(`${where}: a search of the provider`);
    } else if (type === "shell") {
      const { type: place = "container_auto" } = partOf(tool["environment"]);
      if (place !== "local") throw notGranted(`${where}: a shell of the provider`);
    } else if (/^web_search(?:_preview)?(?:_\d{4}_\d\d_\d\d)?$/.test(type)) {
      requireNetwork(`The tool ${type}`, this.#grants);
      this.mustBeCounted = true;
    } else if (!ownTools.has(type)) {
      throw notGranted(`The tool ${JSON.stringify(type)}`);
    }
    if (type !== "function" && type !== "custom") this.addedTokens += toolTokens;
  }
}

const harmless: Fields = {
  ...{ model: true, instructions: true, max_output_tokens: true, stream: true, temperature: true },
  ...{ top_p: true, top_logprobs: true, truncation: true, user: true, metadata: true, text: true },
  ...{ parallel_tool_calls: true, reasoning: true, safety_identifier: true, tool_choice: true },
  ...{ prompt_cache_key: true, prompt_cache_retention: true, client_metadata: true },
  max_tool_calls: true,
  store: only(false),
  background: only(false),
  service_tier: only("auto", "default", "flex"),
  include: (value, where) => {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one === "reasoning.encrypted_content" || one === "message.output_text.logprobs") continue;
      if (one !== "web_search_call.action.sources") throw notGranted(`${where}: ${textIn(one)}`);
    }
  },
  stream_options: (value, where) =>
    checkFields(objectIn(value, where), { include_obfuscation: true }, where),
};

function answerOf(response: Json): WireAnswer {
  const output = objectsIn(response["output"], "output");
  const parts = output.flatMap(({ content }) => (Array.isArray(content) ? content : []));
  return {
    served: typeof response["model"] === "string" ? response["model"] : null,
    usage: usageFrom(partOf(response["usage"]), "input_tokens", "output_tokens"),
    finish: textIn(partOf(response["incomplete_details"])["reason"]) || textIn(response["status"]),
    text: parts.map((part) => textIn(partOf(part)["text"])).join(""),
  };
}

class ResponsesStream implements WireStream {
  received = 0;
  isComplete = false;
  #last: Json = {};
  #text = "";

  see(event: Json): boolean {
    const type = textIn(event["type"]);
    if (type.endsWith(".delta")) {
      this.received += bytesOf(event["delta"]);
      if (type === "response.output_text.delta") this.#text += textIn(event["delta"]);
    }
    const response = event["response"];
    if (typeof response === "object" && response !== null) this.#last = partOf(response);
    this.isComplete ||= /^response\.(?:completed|incomplete|failed)$/.test(type);
    return true;
  }

  get answer(): WireAnswer {
    const { text, ...answer } = answerOf(this.#last);
    return { ...answer, text: this.#text || text };
  }
}
