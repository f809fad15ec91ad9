import type { Attributes } from "@opentelemetry/api";
import type { RecordedCall, StoredEvent, TokenUsage } from "../../events/event.ts";
import { clip } from "../../text.ts";

/**
 * The attribute names of OpenTelemetry's conventions for generative AI. These are still in
 * development, so they are defined here.
 */
export const names = {
  operation: "gen_ai.operation.name",
  provider: "gen_ai.provider.name",
  conversation: "gen_ai.conversation.id",
  agentId: "gen_ai.agent.id",
  agentName: "gen_ai.agent.name",
  requestModel: "gen_ai.request.model",
  responseModel: "gen_ai.response.model",
  finishReasons: "gen_ai.response.finish_reasons",
  inputTokens: "gen_ai.usage.input_tokens",
  outputTokens: "gen_ai.usage.output_tokens",
  toolName: "gen_ai.tool.name",
  toolType: "gen_ai.tool.type",
  callId: "gen_ai.tool.call.id",
  errorType: "error.type",
  // Content of messages and calls, only with the operator's consent.
  inputMessages: "gen_ai.input.messages",
  outputMessages: "gen_ai.output.messages",
  callArguments: "gen_ai.tool.call.arguments",
  callResult: "gen_ai.tool.call.result",
} as const;

/** Providers with another name in the conventions. */
const providers: Readonly<Record<string, string>> = {
  google: "gcp.gemini",
  vertex: "gcp.vertex_ai",
  azure: "azure.ai.openai",
  bedrock: "aws.bedrock",
  mistral: "mistral_ai",
  xai: "x_ai",
};

export function modelAttributes(requested: string): Attributes {
  const slash = requested.indexOf("/");
  const provider = slash === -1 ? requested : requested.slice(0, slash);
  return {
    [names.provider]: Object.hasOwn(providers, provider) ? providers[provider] : provider,
    [names.requestModel]: requested.slice(slash + 1),
  };
}

const finishReasons: Readonly<Record<string, string>> = {
  "tool-calls": "tool_call",
  "content-filter": "content_filter",
};

export function turnAttributes({ payload }: StoredEvent<"agent.model_turn">): Attributes {
  const { requested, served, usage, finish_reason: finish } = payload;
  return {
    ...modelAttributes(requested),
    ...(served !== null && { [names.responseModel]: shorten(served) }),
    ...usageAttributes(usage),
    [names.finishReasons]: [
      Object.hasOwn(finishReasons, finish) ? (finishReasons[finish] ?? finish) : finish,
    ],
  };
}

export function usageAttributes({ prompt, completion, cost }: TokenUsage): Attributes {
  return {
    [names.inputTokens]: prompt,
    [names.outputTokens]: completion,
    "mandate.cost_usd": cost,
  };
}

/** The answer of a model, in the format of the conventions. */
export function outputMessages(text: string, calls: readonly RecordedCall[]): string {
  const said = text === "" ? [] : [{ type: "text", content: text }];
  const called = calls.map(({ id, name, input }) => {
    return { type: "tool_call", id, name, arguments: input };
  });
  return clipContent(JSON.stringify([{ role: "assistant", parts: [...said, ...called] }]));
}

export function inputMessages(text: string): string {
  return clipContent(JSON.stringify([{ role: "user", parts: [{ type: "text", content: text }] }]));
}

const longestContent = 32 * 1024;

export function clipContent(text: string): string {
  return clip(text, longestContent);
}

/** Shortens a name from a model or a file. */
export function shorten(name: string): string {
  return clip(name, 120);
}
