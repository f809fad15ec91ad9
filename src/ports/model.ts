/**
 * A model as the engine sees it: a function from a request to a reply. An expected failure is thrown as a
 * `ModelFault`. A model never retries by itself, and stops soon after `signal` aborts. It ignores settings
 * that it does not support, such as temperature or effort. Parts are streamed to `onPart` for display and
 * for the stall deadline; they are not recorded.
 */
export interface Model {
  (request: ModelRequest, onPart: (part: ModelPart) => void): Promise<ModelReply>;
  /**
   * An upper bound of a prompt's tokens. Undefined: unknown, and the bound is one token per byte. Called
   * only where that bound does not fit the budget.
   */
  countTokens?(prompt: PromptToCount): Promise<number | undefined>;
}

/** A request before its reservation. */
export interface PromptToCount extends Omit<ModelRequest, "caller"> {
  /** The provider's count of the last prompt and answer, and the messages since; null: no count yet. */
  readonly counted: { readonly tokens: number; readonly since: readonly Message[] } | null;
}

export interface ModelRequest {
  /** `provider/model`. */
  readonly model: string;
  readonly system: string;
  readonly messages: readonly Message[];
  readonly tools: readonly ToolDescription[];
  readonly maxOutputTokens: number;
  readonly temperature: number | null;
  readonly topP?: number | null | undefined;
  /** How much the model should reason; null or absent: its default. */
  readonly effort?: Effort | null | undefined;
  /** The requesting delegation, for scripted models, traces and middleware. Not sent to providers. */
  readonly caller: ModelCaller;
  readonly signal: AbortSignal;
}

export interface ModelCaller {
  readonly delegationId: string;
  readonly profile: string;
  readonly depth: number;
  /** The number of the attempt, from 1. */
  readonly attempt: number;
  /** The number of the turn within the attempt, from 1. */
  readonly turn: number;
  /** From 1: the number of tries of this turn, after faults of the provider. */
  readonly try: number;
  readonly task: string;
}

export type Message =
  | {
      readonly role: "user";
      readonly text: string;
      /** The sender: a person, or the person or program behind the run; absent: the runtime or an agent. */
      readonly from?: "person" | "caller";
    }
  | {
      readonly role: "assistant";
      readonly text: string;
      readonly calls: readonly ToolCall[];
      readonly providerData?: unknown;
    }
  | {
      readonly role: "tool";
      readonly callId: string;
      readonly tool: string;
      readonly text: string;
      readonly isError: boolean;
    };

export interface ToolCall {
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
  /** The raw text when the arguments were not JSON; `input` is then undefined. */
  readonly malformed?: string;
}

export interface ToolDescription {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the parameters; the same object every time, so adapters can cache by identity. */
  readonly parameters: Readonly<Record<string, unknown>>;
}

export type ModelPart =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "reasoning"; readonly text: string }
  /** `bytes`: the size of other output, such as the arguments of a call. */
  | { readonly type: "activity"; readonly bytes?: number };

export type FinishReason = "stop" | "tool-calls" | "length" | "content-filter" | "other";

export interface ModelReply {
  readonly text: string;
  readonly calls: readonly ToolCall[];
  readonly finish: FinishReason;
  /** Null: the provider did not report it, and the worst case is settled. */
  readonly usage: ModelUsage | null;
  /** The model that answered, as reported by the provider; null: not reported. */
  readonly served: string | null;
  readonly providerData?: unknown;
  /** Only of a reused answer: the delegation that it was recorded for. It costs nothing. */
  readonly takenFrom?: string;
}

export interface ModelUsage {
  readonly prompt: number;
  readonly completion: number;
  /** The part of `prompt` that came from the provider's cache. */
  readonly cached?: number;
  /** The part of `prompt` that the provider wrote to its cache, where it charges for that. */
  readonly cacheWrite?: number;
}

/** How much a model reasons, as providers name it. */
export type Effort = "none" | "minimal" | "low" | "medium" | "high" | "xhigh";

/** Faults of a model request, by the engine's reaction. */
export type ModelFaultKind =
  /** The provider had too many requests; retried after `retryAfterMs`. */
  | "rate-limited"
  /** The account's limit is reached; waiting does not help. */
  | "spend-cap"
  /** The provider is overloaded or broken (5xx, 529). */
  | "overloaded"
  /** The connection failed or the stream was cut. */
  | "connection"
  /** The conversation is longer than the model's window. */
  | "context-overflow"
  /** The key is missing or refused. */
  | "unauthorized"
  /** The provider does not offer this model. */
  | "unknown-model"
  /** What answers at the address is no model API: a web page, a redirect, an unknown path. */
  | "wrong-address"
  /** A local program that does not run, or a host that does not exist. */
  | "unreachable"
  /** The answer does not follow the protocol, such as invalid JSON. */
  | "unreadable"
  /** The provider rejected the request as malformed. */
  | "rejected";

export class ModelFault extends Error {
  readonly kind: ModelFaultKind;
  readonly retryAfterMs: number | undefined;
  /** The output before the fault; recorded, never acted upon. */
  readonly partial: string | undefined;
  /** What a person can do about it; a sentence. */
  readonly remedy: string | undefined;

  constructor(
    kind: ModelFaultKind,
    message: string,
    options: { retryAfterMs?: number; partial?: string; remedy?: string; cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause });
    this.name = "ModelFault";
    this.kind = kind;
    this.retryAfterMs = options.retryAfterMs;
    this.partial = options.partial;
    this.remedy = options.remedy;
  }
}
