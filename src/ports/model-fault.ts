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
