import type {
  LanguageModelV4FunctionTool,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
} from "@ai-sdk/provider";
import type { Message, ModelRequest, ToolCall, ToolDescription } from "../ports/model.ts";
import { type Fragment, readProviderData } from "./reply-blocks.ts";

type AssistantMessage = Extract<Message, { role: "assistant" }>;
type AssistantContent = Extract<LanguageModelV4Message, { role: "assistant" }>["content"];

/**
 * Converts conversations to prompts of the AI SDK. Messages and tool lists are the same objects in
 * every turn, so each is converted once.
 */
export class AiSdkPrompt {
  readonly #messages = new WeakMap<Message, LanguageModelV4Message | null>();
  readonly #tools = new WeakMap<readonly ToolDescription[], LanguageModelV4FunctionTool[]>();
  readonly #hasBreakpoints: boolean;

  constructor(hasBreakpoints: boolean) {
    this.#hasBreakpoints = hasBreakpoints;
  }

  messages(request: Pick<ModelRequest, "messages" | "model" | "system">): LanguageModelV4Prompt {
    const prompt: LanguageModelV4Prompt = [];
    if (request.system !== "") prompt.push({ role: "system", content: request.system });
    for (const message of request.messages) {
      let converted = this.#messages.get(message);
      if (converted === undefined) {
        converted = convertMessage(message, request.model);
        this.#messages.set(message, converted);
      }
      if (converted !== null) prompt.push(converted);
    }
    return this.#hasBreakpoints ? markPrompt(prompt) : prompt;
  }

  tools(tools: readonly ToolDescription[]): LanguageModelV4FunctionTool[] {
    let converted = this.#tools.get(tools);
    if (converted === undefined) {
      converted = tools.map(({ name, description, parameters }) => ({
        type: "function",
        name,
        description,
        inputSchema: parameters as LanguageModelV4FunctionTool["inputSchema"],
      }));
      if (this.#hasBreakpoints) converted = markTools(converted);
      this.#tools.set(tools, converted);
    }
    return converted;
  }
}

/** Null for an empty message: providers refuse empty blocks. */
function convertMessage(message: Message, model: string): LanguageModelV4Message | null {
  switch (message.role) {
    case "user":
      if (message.text.trim() === "") return null;
      return { role: "user", content: [{ type: "text", text: message.text }] };
    case "assistant": {
      const content = assistantContent(message, model);
      return content.length === 0 ? null : { role: "assistant", content };
    }
    case "tool": {
      const { callId, tool, text, isError } = message;
      const output = { type: isError ? "error-text" : "text", value: text } as const;
      const result = { type: "tool-result", toolCallId: callId, toolName: tool, output } as const;
      return { role: "tool", content: [result] };
    }
    default:
      return message satisfies never;
  }
}

function assistantContent(message: AssistantMessage, model: string): AssistantContent {
  const fragments = readProviderData(message.providerData, model, message);
  if (fragments !== null) return fragmentContent(message, fragments);
  const content: AssistantContent = message.calls.map(callPart);
  if (message.text.trim() !== "") content.unshift({ type: "text", text: message.text });
  return content;
}

/** The reply in its original order, each piece with the metadata that its provider wants back. */
function fragmentContent(message: AssistantMessage, fragments: readonly Fragment[]) {
  const content: AssistantContent = [];
  let offset = 0;
  for (const fragment of fragments) {
    const options = fragment.options === undefined ? {} : { providerOptions: fragment.options };
    if (fragment.kind === "reasoning") {
      content.push({ type: "reasoning", text: fragment.text, ...options });
    } else if (fragment.kind === "text") {
      const text = message.text.slice(offset, offset + fragment.length);
      offset += fragment.length;
      if (text.trim() !== "") content.push({ type: "text", text, ...options });
    } else {
      const call = message.calls.find(({ id }) => id === fragment.id);
      if (call !== undefined) content.push({ ...callPart(call), ...options });
    }
  }
  return content;
}

function callPart(call: ToolCall) {
  return {
    type: "tool-call",
    toolCallId: call.id,
    toolName: call.name,
    input: callInput(call.input),
  } as const;
}

/** Providers accept objects only. The error result of a malformed call describes its arguments. */
function callInput(input: unknown): object {
  return typeof input === "object" && input !== null && !Array.isArray(input) ? input : {};
}

const breakpoint = { anthropic: { cacheControl: { type: "ephemeral" } } };

/**
 * Sets Anthropic's cache breakpoints: after the tools, after the system prompt, at the end of this
 * request, and at the end of the previous one. The last is needed because the provider looks back
 * only twenty blocks, and a turn can have more calls than that. Four is the provider's maximum.
 */
function markPrompt(prompt: LanguageModelV4Prompt): LanguageModelV4Prompt {
  const last = prompt.findLastIndex(isMarkable);
  const answer = prompt.findLastIndex(({ role }, index) => role === "assistant" && index < last);
  const before = answer === -1 ? -1 : prompt.slice(0, answer).findLastIndex(isMarkable);
  const system = prompt[0]?.role === "system" ? 0 : -1;
  const marked = [...prompt];
  for (const index of [system, before, last]) {
    const message = prompt[index];
    if (message !== undefined) marked[index] = { ...message, providerOptions: breakpoint };
  }
  return marked;
}

function markTools(tools: readonly LanguageModelV4FunctionTool[]): LanguageModelV4FunctionTool[] {
  return tools.map((tool, index) =>
    index === tools.length - 1 ? { ...tool, providerOptions: breakpoint } : tool,
  );
}

/** Only user and tool messages: reasoning blocks of a reply cannot carry a breakpoint. */
function isMarkable({ role }: LanguageModelV4Message): boolean {
  return role === "user" || role === "tool";
}
