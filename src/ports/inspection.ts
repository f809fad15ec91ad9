import type { InboxItem } from "../events/inbox-item.ts";

/**
 * What a store holds, as it holds it: nothing folded, nothing checked, nothing left out. For those
 * who verify a store without trusting it. All answers are about one moment, however long the
 * looking takes and whoever writes meanwhile.
 */
export interface Inspection {
  /** Every run that any row speaks of. */
  runIds(): Promise<readonly string[]>;
  /** Which run has which sequence numbers, in their order. */
  spans(): AsyncIterable<LogSpan>;
  readRows(runId: string): Promise<StoredRows>;
  /** The events of a run, in order. */
  readBatches(runId: string): AsyncIterable<StoredBatch>;
  /** Every control record there is or was. */
  records(): AsyncIterable<StoredRecord>;
  /** Whether there is a memory of that id, whoever saved it. */
  hasMemory(id: string): Promise<boolean>;
  close(): Promise<void>;
}

export interface LogSpan {
  readonly runId: string;
  readonly firstSeq: number;
  readonly count: number;
}

/** Consecutive events of one run and the hash after the last of them. */
export interface StoredBatch extends LogSpan {
  readonly firstRunSeq: number;
  readonly hash: string;
  /** A JSON array of `[type, sub_agent_id, at, payload]`, to the letter. */
  readonly text: string;
}

/** The rows of a run that are not events. */
export interface StoredRows {
  readonly run: StoredRun | undefined;
  readonly delegations: readonly StoredDelegation[];
  readonly asks: readonly StoredAsk[];
  readonly inbox: readonly InboxItem[];
  readonly memories: readonly StoredMemory[];
}

export interface StoredRun {
  readonly outcome: string | null;
  readonly worker: string;
  readonly fence: number;
  readonly delegations: number;
  readonly tokens: number;
  readonly cost: number;
}

export interface StoredDelegation {
  readonly id: string;
  readonly status: string;
  readonly closeReason: string | null;
  readonly contractHash: string;
  readonly contextJson: string;
}

export interface StoredAsk {
  readonly id: string;
  readonly delegationId: string;
  readonly answered: boolean;
}

/** What a memory says of where it comes from, and for whom it is. */
export interface StoredMemory {
  readonly id: string;
  readonly delegationId: string;
  readonly callId: string;
  /** A JSON array of ids, to the letter. */
  readonly lineage: string;
  readonly profile: string;
  readonly workspace: string | null;
  readonly scope: string;
}

export interface StoredRecord {
  readonly resourceType: string;
  readonly resourceId: string;
  /** What is remembered so that no version is used twice; null when nothing is. */
  readonly lastVersion: number | null;
  /** Null when it was deleted. */
  readonly now: {
    readonly version: number;
    /** JSON, to the letter. */
    readonly text: string;
    readonly updatedBy: string;
    readonly updatedAt: number;
  } | null;
}
