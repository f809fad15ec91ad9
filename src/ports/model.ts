/**
 * Who answers. The loop sees a model as a function: it gets a request and gives a reply, or
 * throws a `ModelFault`. It never retries by itself, never throws anything else that is part of
 * normal life, and stops soon after `signal` aborts. A setting that a model does not take, such as
 * temperature or effort, is left out instead of failing the request. Parts are streamed to `onPart`
 * while they arrive; they are for people who wait and for the stall deadline, not for the record.
 */
export interface Model {
  (request: ModelRequest, onPart: (part: ModelPart) => void): Promise<ModelReply>;
  /**
   * The most tokens that the provider can count for a prompt. Undefined: that is not known, and a
   * token for each byte is the bound. Asked only where that bound does not fit the budget.
   */
  countTokens?(prompt: PromptToCount): Promise<number | undefined>;
}

/** A request before it is known what its answer may cost. */
export interface PromptToCount extends Omit<ModelRequest, "caller"> {
  /** What the provider reported for the prompt and answer before, and what was said since. */
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
  /** How much the model should think; null or absent: as much as it does by itself. */
  readonly effort?: Effort | null | undefined;
  /** Who asks: for scripted models, traces and middleware. Providers never see it. */
  readonly caller: ModelCaller;
  readonly signal: AbortSignal;
}

export interface ModelCaller {
  readonly delegationId: string;
  readonly profile: string;
  readonly depth: number;
  /** From 1, within the attempt. */
  readonly attempt: number;
  /** From 1, within the attempt. */
  readonly turn: number;
  /** From 1: tries of this same turn after provider faults. */
  readonly try: number;
  readonly task: string;
}

export type Message =
  | {
      readonly role: "user";
      readonly text: string;
      /** A person said it, or the person or program behind the run; absent: the runtime or an agent. */
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
  /** `bytes`: of output that is neither, such as the arguments of a call. */
  | { readonly type: "activity"; readonly bytes?: number };

export type FinishReason = "stop" | "tool-calls" | "length" | "content-filter" | "other";

export interface ModelReply {
  readonly text: string;
  readonly calls: readonly ToolCall[];
  readonly finish: FinishReason;
  /** Null when the provider did not say: the worst case is then taken. */
  readonly usage: ModelUsage | null;
  /** The model that answered, by the provider's own word; null when it did not say. */
  readonly served: string | null;
  readonly providerData?: unknown;
  /** Of an answer that was recorded earlier: whose it was. It costs nothing now. */
  readonly takenFrom?: string;
}

export interface ModelUsage {
  readonly prompt: number;
  readonly completion: number;
  /** Of `prompt`, what came from the provider's cache. */
  readonly cached?: number;
  /** Of `prompt`, what the provider put into its cache, where it charges for that. */
  readonly cacheWrite?: number;
}

/** How much a model reasons, in the words of the models that take it. */
export type Effort = "none" | "minimal" | "low" | "medium" | "high" | "xhigh";

/** What can go wrong between us and a model, by what the loop does about it. */
export type ModelFaultKind =
  /** Too many requests; with `retryAfterMs` it is worth waiting. */
  | "rate-limited"
  /** The account's own limit was reached; waiting does not help. */
  | "spend-cap"
  /** The provider is overloaded or broken (5xx, 529). */
  | "overloaded"
  /** The connection failed or the stream was cut. */
  | "connection"
  /** The conversation is longer than the model's window. */
  | "context-overflow"
  /** The key is missing or refused. */
  | "unauthorized"
  /**
   * The provider refused the request as malformed, or does not know the model; or it is to run on
   * this machine, and does not.
   */
  | "rejected";

export class ModelFault extends Error {
  readonly kind: ModelFaultKind;
  readonly retryAfterMs: number | undefined;
  /** What had arrived before the fault; kept as data, never acted upon. */
  readonly partial: string | undefined;

  constructor(
    kind: ModelFaultKind,
    message: string,
    options: { retryAfterMs?: number; partial?: string; cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause });
    this.name = "ModelFault";
    this.kind = kind;
    this.retryAfterMs = options.retryAfterMs;
    this.partial = options.partial;
  }
}
