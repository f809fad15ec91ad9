import type { RunEnd } from "../checkpoint.ts";

/**
 * The invariants of the log, by the numbers that documentation and issues use.
 *
 * I1 order and hash chain, and that of every record's versions · I2 one creation, under the contract
 * it names · I3 start and attempts · I4 the lifecycle's grammar, and what belongs into which log ·
 * I5 one close, nothing after it · I6 the end that was recorded is the end that happened · I7 stored
 * state is the fold, a stored record what its last event says, and a stored memory, text or artifact
 * what its hash names · I8 nothing acknowledged is missing, nor what a head or a checkpoint has ·
 * I9 fencing and one output · I10 tool calls, that memories are of one, and that messages are
 * delivered once and as they were sent · I11 containment · I12 budget · I13 parents close last · I14
 * the run's outcome · I15 results agree · I16 merges: once, in order, of what could be written; and
 * in the world beside the database no process, working copy, unfinished merge or lock that no process is
 * left to own · I17 nothing begins after a cancel · I18 recovering twice writes nothing.
 */
export type Invariant =
  | "I1"
  | "I2"
  | "I3"
  | "I4"
  | "I5"
  | "I6"
  | "I7"
  | "I8"
  | "I9"
  | "I10"
  | "I11"
  | "I12"
  | "I13"
  | "I14"
  | "I15"
  | "I16"
  | "I17"
  | "I18";

export interface Violation {
  readonly invariant: Invariant;
  readonly runId?: string;
  readonly delegationId?: string;
  readonly seq?: number;
  readonly message: string;
}

export interface CheckReport {
  readonly ok: boolean;
  readonly events: number;
  readonly delegations: number;
  readonly violations: readonly Violation[];
  /** What was removed on purpose, by its receipts; absent: nothing was. */
  readonly pruned?: PrunedSum;
  /** How many ends of runs, noted outside of the database, it was held against; absent: none were. */
  readonly heads?: number;
}

/** One log that was read from its beginning: where it ends, and whose it is. */
export interface CheckedLog extends RunEnd {
  readonly delegations: number;
}

export interface PrunedSum {
  readonly runs: number;
  readonly events: number;
  /** When the first and the last of them were pruned. */
  readonly firstAt: number;
  readonly lastAt: number;
}

/** How a check says what it found: where, as far as it is about one place. */
export type Report = (
  invariant: Invariant,
  message: string,
  where?: Pick<Violation, "delegationId" | "seq">,
) => void;
