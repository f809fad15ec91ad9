import type { InboxItem } from "../events/inbox-item.ts";

/**
 * What a store holds, as it holds it: nothing folded, nothing checked, nothing left out. For those
 * who verify a store without trusting it. All answers are about one moment, however long the
 * inspection takes and what is written during it.
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
  /** Whether there is a memory of that id, whichever agent saved it. */
  hasMemory(id: string): Promise<boolean>;
  /** The hashes of all texts and of all artifacts that are stored, in no order. */
  bodyHashes(kind: BodyKind): AsyncIterable<string>;
  /** A text or an artifact as it is stored under that hash, whatever it hashes to. */
  readBody(kind: BodyKind, hash: string): Promise<string | undefined>;
  /** What pruning relies on: the bodies that a run is known to refer to. */
  references(runId: string): Promise<StoredReferences>;
  /** The numbers that the store counts with. */
  counters(): Promise<StoredCounters>;
  /**
   * Ends of runs that were written down outside of the database, as they were before anything else
   * was read; undefined: this store writes none down.
   */
  readonly heads: KeptHeads | undefined;
  close(): Promise<void>;
}

/** Texts are prompts, kept beside the log; artifacts are bodies too large for it. */
export type BodyKind = "text" | "artifact";

export interface StoredReferences {
  /** The batches of the run that begin at or before this have been read for references. */
  readonly through: number;
  readonly hashes: ReadonlySet<string>;
}

export interface StoredCounters {
  /** Where the next block of numbers for ids begins. */
  readonly nextNumber: number;
  /** The greatest number that a run, a delegation or a question has. */
  readonly lastNumber: number;
  /** The batches that begin at or before this have been read for references to bodies. */
  readonly referencesSeq: number;
  /** How many batches an index of the store leaves out, or has for another run. */
  readonly misindexed: number;
}

/** The event that a run's log had come to, at some time. */
export interface LogHead {
  readonly runId: string;
  readonly seq: number;
  readonly hash: string;
}

export interface KeptHeads {
  /** The file that has them. */
  readonly path: string;
  readonly heads: readonly LogHead[];
  /** Ends of runs that were about to be pruned: each receipt after `since` has its own. */
  readonly pruned: readonly LogHead[];
  /** The file knows nothing of what was pruned up to this sequence number. */
  readonly since: number;
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
  readonly task: string;
  readonly application: string;
  readonly workspace: string | null;
  readonly startedAt: number;
  readonly finishedAt: number | null;
  readonly outcome: string | null;
  readonly worker: string;
  readonly fence: number;
  readonly delegations: number;
  readonly tokens: number;
  readonly cost: number;
}

export interface StoredDelegation {
  /** The key of its row; its id says the same number. */
  readonly number: number;
  readonly id: string;
  readonly status: string;
  readonly closeReason: string | null;
  readonly contractHash: string;
  readonly contextJson: string;
}

export interface StoredAsk {
  readonly id: string;
  readonly delegationId: string;
  /** Null: what is stored is neither yes nor no. */
  readonly answered: boolean | null;
}

/** A memory: what it says, where it comes from, and who may see it. */
export interface StoredMemory {
  readonly number: number;
  readonly id: string;
  readonly delegationId: string;
  readonly callId: string;
  /** A JSON array of ids, to the letter. */
  readonly lineage: string;
  readonly profile: string;
  readonly workspace: string | null;
  readonly scope: string;
  readonly key: string | null;
  readonly slot: string | null;
  /** A JSON array, to the letter. */
  readonly tags: string;
  readonly text: string;
  readonly supersedes: string | null;
  readonly createdAt: number;
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
