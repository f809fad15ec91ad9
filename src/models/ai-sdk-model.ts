import type { LanguageModelV4, LanguageModelV4CallOptions } from "@ai-sdk/provider";
import type { Model, ModelPart, ModelReply, ModelRequest } from "../ports/model.ts";
import { AiSdkPrompt } from "./ai-sdk-prompt.ts";
import { AiSdkReply } from "./ai-sdk-reply.ts";
import { toModelFault } from "./to-model-fault.ts";
import { untilAborted } from "./until-aborted.ts";

export interface AiSdkModelOptions {
  /** Passed with every request, by provider: caching, storage and the like. */
  readonly providerOptions?: LanguageModelV4CallOptions["providerOptions"];
  /** Values that must never appear in a fault's message: keys, headers. */
  readonly secrets?: readonly string[];
}

/** An AI SDK model, or what loads one at the first request. */
export type AiSdkSource = LanguageModelV4 | (() => Promise<LanguageModelV4>);

/**
 * Any model of the AI SDK as a `Model`. Speaks the provider's own streaming call, since the SDK's
 * loop would retry and convert on its own; here the agent loop does the one and caches the other.
 */
export function aiSdkModel(source: AiSdkSource, options: AiSdkModelOptions = {}): Model {
  const prompt = new AiSdkPrompt();
  return (request, onPart) => {
    if (request.signal.aborted) return Promise.reject(request.signal.reason);
    const listener = createListener(request.signal, onPart);
    return untilAborted(request.signal, ask(source, prompt, options, request, listener));
  };
}

async function ask(
  source: AiSdkSource,
  prompt: AiSdkPrompt,
  options: AiSdkModelOptions,
  request: ModelRequest,
  onPart: (part: ModelPart) => void,
): Promise<ModelReply> {
  const reply = new AiSdkReply(request, onPart);
  try {
    const model = typeof source === "function" ? await source() : source;
    const { stream } = await model.doStream(callOptions(prompt, options, request));
    await listen(stream.getReader(), reply, request.signal);
    return reply.finish();
  } catch (error) {
    throw toModelFault(error, {
      model: request.model,
      partial: reply.partial,
      secrets: options.secrets ?? [],
    });
  }
}

function callOptions(
  prompt: AiSdkPrompt,
  { providerOptions }: AiSdkModelOptions,
  request: ModelRequest,
): LanguageModelV4CallOptions {
  return {
    prompt: prompt.messages(request),
    ...(request.tools.length === 0 ? {} : { tools: prompt.tools(request.tools) }),
    maxOutputTokens: request.maxOutputTokens,
    ...(request.temperature === null ? {} : { temperature: request.temperature }),
    ...(providerOptions === undefined ? {} : { providerOptions }),
    abortSignal: request.signal,
  };
}

type StreamReader = ReadableStreamDefaultReader<Parameters<AiSdkReply["add"]>[0]>;

async function listen(reader: StreamReader, reply: AiSdkReply, signal: AbortSignal): Promise<void> {
  const stop = () => void reader.cancel().catch(() => {});
  signal.addEventListener("abort", stop, { once: true });
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      reply.add(next.value);
    }
  } finally {
    signal.removeEventListener("abort", stop);
    // After an error part the provider may go on talking; nobody listens any more.
    stop();
  }
}

/** After an abort the caller has its answer, so late parts are not passed on. */
function createListener(signal: AbortSignal, onPart: (part: ModelPart) => void) {
  return (part: ModelPart) => {
    if (!signal.aborted) onPart(part);
  };
}
