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
  /** The model that its contract asks for; absent: another program's agent, or none was asked. */
  readonly requested?: string;
  /** Models that answered. */
  readonly served: readonly string[];
  /** Completed calls by tool. */
  readonly calls?: Readonly<Record<string, number>>;
  /** How its commands ended, in order; a hundred at most. */
  readonly exits?: readonly number[];
  /** What it changed, five hundred at most; what was merged is in `agent.worktree_merged`. */
  readonly files?: readonly FileEvidence[];
  /** It had read what strangers may have written, and so may be what it says. */
  readonly untrusted?: true;
  /** How many there were, when those are not all. */
  readonly files_total?: number;
}
