import type { FileEvidence, TokenUsage } from "./event.ts";

/**
 * What the runtime records of a finished child. It is computed from the log, never taken from the
 * child, so a child cannot claim work that did not happen.
 */
export interface Seal {
  readonly summary: string;
  readonly output_hash: string | null;
  readonly usage: TokenUsage;
  readonly turns: number;
  readonly tool_calls: number;
  readonly attempts: number;
  /** Served models that answered; the contract's pin is beside it in the contract. */
  readonly served: readonly string[];
  readonly files?: readonly FileEvidence[];
}
