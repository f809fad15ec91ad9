// How Anthropic, OpenAI (both protocols) and Gemini write what a client asks and what a model replies.
import type { ServerResponse } from "node:http";

export interface Json {
  readonly [name: string]: Json;
}

/** What a request says, whatever its protocol. */
export interface Conversation {
  /** The names under which tools are offered, with their namespace. */
  readonly tools: readonly { readonly name: string; readonly namespace?: string }[];
  /** How tools that are not offered yet can be had. */
  readonly search?: "ToolSearch" | "tool_search" | "exec";
  /** Tools that a search has found. */
  readonly found: readonly { readonly name: string; readonly namespace?: string }[];
  /** Of our tools, where the protocol says whose a result is. */
  readonly results: readonly string[];
  /** Of all tools. */
  readonly returned: readonly string[];
}

export type Reply =
  | { readonly text: string }
  | { readonly call: { readonly name: string; readonly namespace?: string }; readonly args: object }
  | { readonly search: string }
  | { readonly code: string };

interface Answering {
  readonly id: string;
  readonly model: string;
  readonly isStream: boolean;
  readonly usage?: Usage;
}

/** What a model reports of one answer. */
export interface Usage {
  readonly prompt: number;
  readonly completion: number;
}

const usual: Usage = { prompt: 10, completion: 5 };

interface Protocol {
  read(body: Json): Conversation;
  write(response: ServerResponse, reply: Reply, about: Answering): void;
}

export function protocolOf(path: string): Protocol | undefined {
  if (path.endsWith("/messages")) return anthropic;
  if (path.endsWith("/responses")) return responses;
  if (path.endsWith("/chat/completions")) return chat;
  return /:(?:streamG|g)enerateContent$/.test(path) ? gemini : undefined;
}

function list(value: unknown): readonly Json[] {
  return Array.isArray(value) ? value : [];
}

/** The text of a result: as it is, in blocks, or as data. */
function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  if (!Array.isArray(value)) return JSON.stringify(value);
  return value.map((each) => textOf(each?.text ?? each?.output ?? each)).join("\n");
}

function sendJson(response: ServerResponse, value: object): void {
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(value));
}

function sendEvents(response: ServerResponse, events: readonly object[], end = ""): void {
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const event of events) {
    const { type } = event as { readonly type?: string };
    const name = type === undefined ? "" : `event: ${type}\n`;
    response.write(`${name}data: ${JSON.stringify(event)}\n\n`);
  }
  response.end(end);
}

const anthropic: Protocol = {
  read({ tools, messages }) {
    const names = new Map<string, string>();
    const results: string[] = [];
    const returned: string[] = [];
    const found: { name: string }[] = [];
    for (const { content } of list(messages)) {
      for (const block of list(content)) {
        if (`${block["type"]}` === "tool_use") {
          names.set(`${block["id"]}`, `${block["name"]}`);
          const { query } = block["input"] ?? {};
          if (`${block["name"]}` === "ToolSearch")
            found.push({ name: `${query}`.replace("select:", "") });
        } else if (`${block["type"]}` === "tool_result") {
          const isOurs = names.get(`${block["tool_use_id"]}`)?.includes("mandate");
          returned.push(textOf(block["content"]));
          if (isOurs) results.push(textOf(block["content"]));
        }
      }
    }
    const offered = list(tools).map(({ name }) => ({ name: `${name}` }));
    const canSearch = offered.some(({ name }) => name === "ToolSearch");
    const search = canSearch && { search: "ToolSearch" as const };
    return { tools: offered, found, results, returned, ...search };
  },
  write(response, reply, { id, model, isStream, usage: { prompt, completion } = usual }) {
    const block =
      "call" in reply
        ? { type: "tool_use", id: `toolu_${id}`, name: reply.call.name, input: reply.args }
        : { type: "text", text: "text" in reply ? reply.text : "" };
    const stop = "call" in reply ? "tool_use" : "end_turn";
    const usage = { input_tokens: prompt, output_tokens: completion };
    const message = { id: `msg_${id}`, type: "message", role: "assistant", model, usage };
    if (!isStream) {
      sendJson(response, { ...message, content: [block], stop_reason: stop, stop_sequence: null });
      return;
    }
    const start = block.type === "tool_use" ? { ...block, input: {} } : { ...block, text: "" };
    const delta =
      "call" in reply
        ? { type: "input_json_delta", partial_json: JSON.stringify(reply.args) }
        : { type: "text_delta", text: "text" in reply ? reply.text : "" };
    sendEvents(response, [
      { type: "message_start", message: { ...message, content: [], stop_reason: null } },
      { type: "content_block_start", index: 0, content_block: start },
      { type: "content_block_delta", index: 0, delta },
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason: stop, stop_sequence: null }, usage },
      { type: "message_stop" },
    ]);
  },
};

const responses: Protocol = {
  read({ tools, input }) {
    const items = list(input);
    const extra = items.filter(({ type }) => `${type}` === "additional_tools");
    const all = [...list(tools), ...extra.flatMap((item) => list(item["tools"]))];
    const found = items.filter(({ type }) => `${type}` === "tool_search_output");
    const results = items
      .filter(({ type }) => /^(?:function|custom_tool)_call_output$/.test(`${type}`))
      .map(({ output }) => textOf(output));
    const offered = namesIn(all);
    const search = all.some(({ type }) => `${type}` === "tool_search")
      ? ("tool_search" as const)
      : offered.some(({ name }) => name === "exec") && ("exec" as const);
    return {
      tools: offered,
      found: found.flatMap((item) => namesIn(list(item["tools"]))),
      results,
      returned: results,
      ...(search && { search }),
    };
  },
  write(response, reply, { id, model, isStream, usage: { prompt, completion } = usual }) {
    const item = { id: `item_${id}`, status: "completed", ...responseItem(reply, id) };
    const usage = {
      ...{ input_tokens: prompt, input_tokens_details: { cached_tokens: 0 } },
      ...{ output_tokens: completion, output_tokens_details: { reasoning_tokens: 0 } },
      total_tokens: prompt + completion,
    };
    const about = { id: `resp_${id}`, object: "response", created_at: 1_700_000_000, model };
    const whole = { ...about, status: "completed", output: [item], usage };
    if (!isStream) {
      sendJson(response, whole);
      return;
    }
    const at = { output_index: 0, item_id: item.id, content_index: 0 };
    const isText = "text" in reply;
    sendEvents(response, [
      { type: "response.created", response: { ...about, status: "in_progress", output: [] } },
      {
        ...{ type: "response.output_item.added", output_index: 0 },
        item: isText ? { ...item, content: [] } : item,
      },
      ...(isText ? [{ type: "response.output_text.delta", ...at, delta: reply.text }] : []),
      { type: "response.output_item.done", output_index: 0, item },
      { type: "response.completed", response: whole },
    ]);
  },
};

function namesIn(tools: readonly Json[]): readonly { name: string; namespace?: string }[] {
  return tools.flatMap((each) => {
    if (`${each["type"]}` !== "namespace") return [{ name: `${each["name"] ?? each["type"]}` }];
    const namespace = `${each["name"]}`;
    return list(each["tools"]).map(({ name }) => ({ name: `${name}`, namespace }));
  });
}

function responseItem(reply: Reply, id: string): object {
  const call_id = `call_${id}`;
  if ("text" in reply) {
    const content = [{ type: "output_text", text: reply.text, annotations: [] }];
    return { type: "message", role: "assistant", content };
  }
  if ("search" in reply) {
    const found = { execution: "client", arguments: { query: reply.search } };
    return { type: "tool_search_call", call_id, ...found };
  }
  if ("code" in reply)
    return { type: "custom_tool_call", call_id, name: "exec", input: reply.code };
  return { type: "function_call", call_id, ...reply.call, arguments: JSON.stringify(reply.args) };
}

const chat: Protocol = {
  read({ tools, messages }) {
    const results = list(messages)
      .filter(({ role }) => `${role}` === "tool")
      .map(({ content }) => textOf(content));
    const offered = list(tools).map(({ function: each }) => ({ name: `${each?.["name"]}` }));
    return { tools: offered, found: [], results, returned: results };
  },
  write(response, reply, { id, model, isStream, usage: { prompt, completion } = usual }) {
    const message =
      "call" in reply
        ? {
            role: "assistant",
            content: null,
            tool_calls: [
              {
                ...{ index: 0, id: `call_${id}`, type: "function" },
                function: { name: reply.call.name, arguments: JSON.stringify(reply.args) },
              },
            ],
          }
        : { role: "assistant", content: "text" in reply ? reply.text : "" };
    const finish_reason = "call" in reply ? "tool_calls" : "stop";
    const usage = {
      ...{ prompt_tokens: prompt, completion_tokens: completion },
      total_tokens: prompt + completion,
    };
    const about = { id: `chatcmpl-${id}`, created: 1_700_000_000, model };
    if (!isStream) {
      const choices = [{ index: 0, message, finish_reason }];
      sendJson(response, { ...about, object: "chat.completion", choices, usage });
      return;
    }
    const chunk = { ...about, object: "chat.completion.chunk" };
    sendEvents(
      response,
      [
        { ...chunk, choices: [{ index: 0, delta: message, finish_reason: null }] },
        { ...chunk, choices: [{ index: 0, delta: {}, finish_reason }], usage },
      ],
      "data: [DONE]\n\n",
    );
  },
};

const gemini: Protocol = {
  read({ tools, contents }) {
    const parts = list(contents).flatMap((each) => list(each["parts"]));
    const declared = list(tools).flatMap((each) => list(each["functionDeclarations"]));
    const results = parts.flatMap(({ functionResponse: each }) =>
      each === undefined ? [] : [textOf(each["response"]?.["output"] ?? each["response"])],
    );
    const offered = declared.map(({ name }) => ({ name: `${name}` }));
    return { tools: offered, found: [], results, returned: results };
  },
  write(response, reply, { isStream, usage: { prompt, completion } = usual }) {
    const part =
      "call" in reply
        ? { functionCall: { name: reply.call.name, args: reply.args } }
        : { text: "text" in reply ? reply.text : "" };
    const content = { role: "model", parts: [part] };
    const usageMetadata = {
      ...{ promptTokenCount: prompt, candidatesTokenCount: completion },
      totalTokenCount: prompt + completion,
    };
    const whole = { candidates: [{ content, finishReason: "STOP", index: 0 }], usageMetadata };
    if (isStream) sendEvents(response, [whole]);
    else sendJson(response, whole);
  },
};
