import type { Role } from "./doings.ts";

/** What a worker is to do; the same for every process that works on one run. */
export interface Job {
  readonly home: string;
  readonly workspace: string;
  readonly children: number;
  /** Who the children are, in turn; absent: everybody but those that need more than files. */
  readonly cast?: readonly Role[];
  /** The workspace is a repository, so that children that write have copies and merges. */
  readonly hasRepository?: boolean;
  /** Extra turns of every child: they make a run longer, not different. */
  readonly rounds: number;
  /** Divides the model's waits. */
  readonly speed: number;
  readonly synchronous: "full" | "normal";
  /** Where its log is, if that is Postgres. */
  readonly postgres?: { readonly url: string; readonly tenant: string };
}

/** What one process meets. A worker is told by a variable of its environment. */
export interface Conditions {
  readonly death?: Death;
  readonly clock?: ClockJump;
  readonly files?: FileFault;
  readonly calls?: CallFault;
  /** It takes itself for a process of another machine: processes of this one are strangers to it. */
  readonly isElsewhere?: boolean;
}

export const conditionsVariable = "MANDATE_TORTURE_CONDITIONS";

export function parseConditions(text: string | undefined): Conditions {
  return text === undefined || text === "" ? {} : (JSON.parse(text) as Conditions);
}

/** Where a worker ends itself: in its so many-th transaction, just before or just after its commit. */
export interface Death {
  readonly side: Side;
  readonly commit: number;
}

export const sqliteSides = ["inside", "before", "after"] as const;
/** A commit that was sent and not answered may have happened, or not. */
export const postgresSides = ["inside", "before", "sent", "after"] as const;

export type Side = (typeof postgresSides)[number];

/** The wall clock is wrong from the start, and jumps once more after a while; nothing else does. */
export interface ClockJump {
  readonly offsetMs: number;
  readonly jumpMs: number;
  readonly afterMs: number;
}

/** From the so many-th write to a file on, so many of them fail; null: all that follow. */
export interface FileFault {
  readonly at: number;
  readonly count: number | null;
  readonly error: FaultCode | "kill";
}

/** A fault of a system call, as the database makes them. */
export interface CallFault extends FileFault {
  readonly call: "pwrite64" | "fsync";
}

export type FaultCode = "ENOSPC" | "EIO";
