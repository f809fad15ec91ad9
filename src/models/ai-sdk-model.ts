import type { LanguageModelV4, LanguageModelV4CallOptions } from "@ai-sdk/provider";
import { type Clock, systemClock, untilAborted } from "../ports/clock.ts";
import {
  type Model,
  ModelFault,
  type ModelPart,
  type ModelReply,
  type ModelRequest,
} from "../ports/model.ts";
import { AiSdkPrompt } from "./ai-sdk-prompt.ts";
import { AiSdkReply } from "./ai-sdk-reply.ts";
import { readComplaint, toModelFault } from "./to-model-fault.ts";

export interface AiSdkModelOptions {
  /** The request's settings as call options of the provider. `isBare`: only those that every model accepts. */
  readonly settings?: (
    request: ModelRequest,
    isBare: boolean,
  ) => Partial<LanguageModelV4CallOptions>;
  /** The provider caches prompts at marks in the request (Anthropic). */
  readonly hasCacheBreakpoints?: boolean;
  /** The client reports neither the model that answered nor a stream that was cut (Gemini). */
  readonly speaksGemini?: boolean;
  /** Values that must never appear in a fault's message: keys, headers. */
  readonly secrets?: readonly string[];
  readonly clock?: Clock;
  /** What a person can do about a fault. */
  readonly remedy?: (fault: ModelFault, signal: AbortSignal) => Promise<string | undefined>;
}

/** An AI SDK model, or what loads one at the first request. */
export type AiSdkSource = LanguageModelV4 | (() => Promise<LanguageModelV4>);

/**
 * Adapts a model of the AI SDK to `Model`. Calls the provider's `doStream` directly: the SDK's own
 * loop would retry, which the agent loop does, and convert the whole conversation in each turn.
 */
export function aiSdkModel(source: AiSdkSource, options: AiSdkModelOptions = {}): Model {
  const client: Client = {
    source,
    options,
    prompt: new AiSdkPrompt(options.hasCacheBreakpoints ?? false),
    isBare: false,
  };
  return (request, onPart) => {
    if (request.signal.aborted) return Promise.reject(request.signal.reason);
    const listener = createListener(request.signal, onPart);
    return untilAborted(request.signal, ask(client, request, listener));
  };
}

interface Client {
  readonly source: AiSdkSource;
  readonly options: AiSdkModelOptions;
  readonly prompt: AiSdkPrompt;
  /** The model has refused a setting: all later requests leave the settings out. */
  isBare: boolean;
}

async function ask(
  client: Client,
  request: ModelRequest,
  onPart: (part: ModelPart) => void,
): Promise<ModelReply> {
  const { source, options } = client;
  const reply = new AiSdkReply(request, onPart);
  try {
    const model = typeof source === "function" ? await source() : source;
    const { stream } = await startStream(client, model, request);
    await listen(stream.getReader(), reply, request.signal);
    return reply.finish(options.speaksGemini ?? false);
  } catch (error) {
    const fault = toModelFault(error, {
      model: request.model,
      partial: reply.partial,
      hasBegun: reply.hasBegun,
      secrets: options.secrets ?? [],
      now: (options.clock ?? systemClock).now(),
    });
    const remedy = await options.remedy?.(fault, request.signal);
    throw remedy === undefined ? fault : withRemedy(fault, remedy);
  }
}

function withRemedy(fault: ModelFault, remedy: string): ModelFault {
  const { cause, kind, message, partial, retryAfterMs } = fault;
  return new ModelFault(kind, message, {
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    ...(partial === undefined ? {} : { partial }),
    ...{ remedy, cause },
  });
}

/** A request that was refused because of a setting is sent again without settings. */
async function startStream(client: Client, model: LanguageModelV4, request: ModelRequest) {
  try {
    return await model.doStream(callOptions(client, request));
  } catch (error) {
    if (client.isBare || request.signal.aborted || !isAboutSettings(error)) throw error;
    client.isBare = true;
    return model.doStream(callOptions(client, request));
  }
}

function callOptions(
  { prompt, options, isBare }: Client,
  request: ModelRequest,
): LanguageModelV4CallOptions {
  const { settings = plainSettings } = options;
  return {
    prompt: prompt.messages(request),
    ...(request.tools.length === 0 ? {} : { tools: prompt.tools(request.tools) }),
    ...settings(request, isBare),
    ...(options.speaksGemini ? { includeRawChunks: true } : {}),
    abortSignal: request.signal,
  };
}

function plainSettings(request: ModelRequest, isBare: boolean) {
  const { maxOutputTokens, temperature, topP, effort } = request;
  if (isBare) return { maxOutputTokens };
  return {
    maxOutputTokens,
    ...(temperature === null ? {} : { temperature }),
    ...(topP == null ? {} : { topP }),
    ...(effort == null ? {} : { reasoning: effort }),
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
    // After an error part the provider may continue to send: cancel the stream.
    stop();
  }
}

/** Drops parts that arrive after an abort: the caller has its answer. */
function createListener(signal: AbortSignal, onPart: (part: ModelPart) => void) {
  return (part: ModelPart) => {
    if (!signal.aborted) onPart(part);
  };
}

const settings =
  /\b(?:temperature|top_?p|reasoning(?:[_.]?effort)?|thinking(?:[_ ]?(?:level|budget|config))?|effort)\b/i;

const refusal =
  /support|unknown|unrecogni[sz]ed|invalid|not (?:allowed|permitted|available)|deprecated|must be|only/i;

/** Whether a provider refused the request's settings (temperature, effort) and not its content. */
function isAboutSettings(error: unknown): boolean {
  const { status, message, text } = readComplaint(error);
  if (status !== 400 && status !== 422) return false;
  // Only the beginning: some servers quote the whole request after their complaint.
  const said = `${message} ${text}`.slice(0, 1000);
  return settings.test(said) && refusal.test(said);
}
