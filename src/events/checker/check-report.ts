import type { RunEnd } from "../checkpoint.ts";

/**
 * The invariants of the log, by the numbers that documentation and issues use.
 *
 * I1 order and hash chain, also of record versions · I2 one creation, with the named contract · I3 start
 * and attempts · I4 legal events, each in the right log · I5 one close, and nothing after it · I6 the
 * recorded end is the real one · I7 stored state is the fold of the events; stored memories, texts and
 * artifacts have their hash · I8 no acknowledged event, head or event of a checkpoint is missing · I9
 * fencing, and one output · I10 tool calls; every memory has a call; messages are delivered once,
 * unchanged · I11 containment · I12 budget · I13 parents close last · I14 the run's outcome · I15 the
 * store's answers and the seals agree with the log · I16 merges: once, in order, only writable files; and
 * outside the database no orphaned process, working copy, unfinished merge or lock · I17 nothing starts
 * after a cancel · I18 a second recovery writes nothing.
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
  /** The pruned runs, by their receipts; absent: none. */
  readonly pruned?: PrunedSum;
  /** The number of heads in the file outside the database; absent: there is no such file. */
  readonly heads?: number;
}

/** The end of one checked log. */
export interface CheckedLog extends RunEnd {
  readonly delegations: number;
}

export interface PrunedSum {
  readonly runs: number;
  readonly events: number;
  /** The times of the first and the last receipt. */
  readonly firstAt: number;
  readonly lastAt: number;
}

/** Reports a violation, with its place where it has one. */
export type Report = (
  invariant: Invariant,
  message: string,
  where?: Pick<Violation, "delegationId" | "seq">,
) => void;
