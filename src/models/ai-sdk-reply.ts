import type { LanguageModelV4StreamPart, LanguageModelV4Usage } from "@ai-sdk/provider";
import {
  type FinishReason,
  ModelFault,
  type ModelPart,
  type ModelReply,
  type ModelRequest,
  type ModelUsage,
} from "../ports/model.ts";
import { headOf } from "../text.ts";
import { type ProviderData, ReplyBlocks } from "./reply-blocks.ts";

/** A reply may have this many characters for each token of its limit, and always `alwaysAllowed`. */
const longestToken = 64;
const alwaysAllowed = 64 * 1024;
/** A turn may start thousands of children; more calls mean a faulty server. */
const mostCalls = 4096;

/** Parts that a client makes without the provider. */
const frame: ReadonlySet<LanguageModelV4StreamPart["type"]> = new Set([
  "stream-start",
  "finish",
  "error",
]);

type Finish = Extract<LanguageModelV4StreamPart, { type: "finish" }>;

/** Assembles a reply from its stream. Calls are read when the provider has finished the reply. */
export class AiSdkReply {
  /** The provider has sent something. */
  hasBegun = false;
  readonly #request: ModelRequest;
  readonly #onPart: (part: ModelPart) => void;
  readonly #blocks = new ReplyBlocks();
  readonly #callsWithInput = new Set<string>();
  #finish: Finish | undefined;
  #served: string | null = null;
  #length = 0;
  #calls = 0;

  constructor(request: ModelRequest, onPart: (part: ModelPart) => void) {
    this.#request = request;
    this.#onPart = onPart;
  }

  /** The text so far: what is kept when the stream breaks. */
  get partial(): string {
    return this.#blocks.text;
  }

  /** Throws what an error part carries. */
  add(part: LanguageModelV4StreamPart): void {
    this.hasBegun ||= !frame.has(part.type);
    switch (part.type) {
      case "text-start":
      case "reasoning-start":
        this.#blocks.begin(kindOf(part.type), part.id, part.providerMetadata);
        return;
      case "text-delta":
      case "reasoning-delta": {
        const kind = kindOf(part.type);
        this.#count(part.delta);
        this.#blocks.extend(kind, part.id, part.delta, part.providerMetadata);
        if (part.delta !== "") this.#onPart({ type: kind, text: part.delta });
        return;
      }
      case "text-end":
      case "reasoning-end":
        this.#blocks.end(kindOf(part.type), part.id, part.providerMetadata);
        return;
      case "tool-input-delta":
        this.#count(part.delta);
        if (part.delta.trim() !== "") this.#callsWithInput.add(part.id);
        this.#onPart({ type: "activity", bytes: Buffer.byteLength(part.delta) });
        return;
      case "tool-call":
        this.#countCall(part.input);
        // Calls that the provider executes itself are not for us.
        if (part.providerExecuted !== true) this.#blocks.addCall(part, part.providerMetadata);
        break;
      case "response-metadata":
        this.#served = part.modelId ?? this.#served;
        return;
      case "raw":
        this.#served = modelVersion(part.rawValue) ?? this.#served;
        return;
      case "finish":
        this.#finish = part;
        return;
      case "error":
        throw part.error;
      case "stream-start":
        // Sent before the provider answers: it is no sign of activity.
        return;
    }
    this.#onPart({ type: "activity" });
  }

  /** Stops a reply far beyond its limit, which could otherwise continue until memory runs out. */
  #count(delta: string): void {
    this.#length += delta.length;
    const { maxOutputTokens, model } = this.#request;
    if (this.#length <= alwaysAllowed + maxOutputTokens * longestToken) return;
    throw this.#cutOff(
      `${model} did not stop at the ${maxOutputTokens} tokens that it was asked for.`,
    );
  }

  #countCall(input: string): void {
    this.#count(input);
    this.#calls += 1;
    if (this.#calls <= mostCalls) return;
    throw this.#cutOff(`${this.#request.model} made more than ${mostCalls} calls in one answer.`);
  }

  #cutOff(message: string): ModelFault {
    const partial = headOf(this.partial, alwaysAllowed);
    return new ModelFault("connection", message, { partial });
  }

  /**
   * The reply, or a fault when the stream ended before the provider had finished. With
   * `needsReason` the usage does not count as an end: Gemini repeats it in every event.
   */
  finish(needsReason: boolean): ModelReply {
    const usage = toModelUsage(this.#finish?.usage);
    const reason = this.#finish?.finishReason;
    // Some clients end a cut stream with a made-up finish: no reason and no usage.
    const hasNoReason = reason?.unified === "other" && reason.raw === undefined;
    const isMadeUp = hasNoReason && (needsReason || usage === null);
    if (reason === undefined || reason.unified === "error" || isMadeUp) {
      const { model } = this.#request;
      if (!this.hasBegun && reason?.raw === undefined) {
        throw new ModelFault("unreadable", `${model} sent an answer without any event in it.`);
      }
      const why = reason?.raw === undefined ? "the stream was cut" : `it stopped as ${reason.raw}`;
      const message = `${model} ended its response early: ${why}.`;
      throw new ModelFault("connection", message, { partial: this.partial });
    }
    const { calls, fragments } = this.#blocks.collect(
      this.#request,
      // A call that was cut before its arguments would look like one without arguments.
      ({ toolCallId }) => reason.unified === "length" && !this.#callsWithInput.has(toolCallId),
    );
    const finish = finishReason(reason.unified, calls.length);
    const reply = { text: this.#blocks.text, calls, finish, usage, served: this.#served };
    const isPlain = fragments.every((each) => each.kind !== "reasoning" && !each.options);
    if (isPlain) return reply;
    const providerData: ProviderData = { model: this.#request.model, fragments };
    return { ...reply, providerData };
  }
}

/** How Gemini says which model answered. */
function modelVersion(event: unknown): string | undefined {
  const version = (event as { modelVersion?: unknown } | null | undefined)?.modelVersion;
  return typeof version === "string" ? version.replace(/^models\//, "") : undefined;
}

function kindOf(type: `${"text" | "reasoning"}-${string}`): "text" | "reasoning" {
  return type.startsWith("text") ? "text" : "reasoning";
}

function finishReason(
  unified: Exclude<Finish["finishReason"]["unified"], "error">,
  calls: number,
): FinishReason {
  // Some servers send "stop" after calls, or "tool-calls" without any: the calls decide.
  if ((unified === "stop" || unified === "other") && calls > 0) return "tool-calls";
  if (unified === "tool-calls" && calls === 0) return "other";
  return unified;
}

/** The provider's count; null without one. Some clients report a missing count as a prompt of zero tokens. */
function toModelUsage(usage: LanguageModelV4Usage | undefined): ModelUsage | null {
  const prompt = usage?.inputTokens?.total;
  const completion = usage?.outputTokens?.total;
  if (!isCount(prompt) || !isCount(completion) || prompt === 0) return null;
  const { cacheRead: cached, cacheWrite } = usage?.inputTokens ?? {};
  return {
    prompt,
    completion,
    ...(isCount(cached) && cached > 0 ? { cached } : {}),
    ...(isCount(cacheWrite) && cacheWrite > 0 ? { cacheWrite } : {}),
  };
}

function isCount(value: number | undefined): value is number {
  return value !== undefined && Number.isFinite(value) && value >= 0;
}
