import type { InboxItem } from "../events/inbox-item.ts";
import type { RootFacts } from "../events/root-facts.ts";

/**
 * The raw rows of a store, neither folded nor checked, so that the checker can verify a store without
 * trusting it. All answers are from one snapshot, however long the inspection takes.
 */
export interface Inspection {
  /** Every run that any row names. */
  runIds(): Promise<readonly string[]>;
  /** The sequence numbers of all runs, in order. */
  spans(): AsyncIterable<LogSpan>;
  readRows(runId: string): Promise<StoredRows>;
  /** The events of a run, in order. */
  readBatches(runId: string): AsyncIterable<StoredBatch>;
  /** All control records, including deleted ones. */
  records(): AsyncIterable<StoredRecord>;
  /** Whether a memory of that id is stored. */
  hasMemory(id: string): Promise<boolean>;
  /** The hashes of all stored bodies of a kind, in no order. */
  bodyHashes(kind: BodyKind): AsyncIterable<string>;
  /** The body stored under that hash, whatever its real hash is. */
  readBody(kind: BodyKind, hash: string): Promise<string | undefined>;
  /** The bodies that a run refers to, as pruning knows them. */
  references(runId: string): Promise<StoredReferences>;
  /** The counters of the store. */
  counters(): Promise<StoredCounters>;
  /**
   * The heads of runs in a file outside the database, read before everything else; undefined: this store
   * has no such file.
   */
  readonly heads: KeptHeads | undefined;
  close(): Promise<void>;
}

/** Texts are prompts, stored beside the log; artifacts are bodies that are too large for it. */
export type BodyKind = "text" | "artifact";

export interface StoredReferences {
  /** References have been collected from batches that begin at or before this number. */
  readonly through: number;
  readonly hashes: ReadonlySet<string>;
}

export interface StoredCounters {
  /** The next number for an id. */
  readonly nextNumber: number;
  /** The greatest number of a run, a delegation or an ask. */
  readonly lastNumber: number;
  /** References have been collected from batches that begin at or before this number. */
  readonly referencesSeq: number;
  /** The number of batches that an index lacks, or has for another run. */
  readonly misindexed: number;
}

/** The last event of a run's log at some time. */
export interface LogHead {
  readonly runId: string;
  readonly seq: number;
  readonly hash: string;
}

export interface KeptHeads {
  /** The path of the file. */
  readonly path: string;
  readonly heads: readonly LogHead[];
  /** The heads of pruned runs: one for each receipt after `since`. */
  readonly pruned: readonly LogHead[];
  /** Runs whose receipt has at most this number are not in `pruned`. */
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
  /** A JSON array of `[type, sub_agent_id, at, payload]`, as stored. */
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

export interface StoredRun extends RootFacts {
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
  /** The key of its row; its id encodes the same number. */
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
  /** Null: the stored value is invalid. */
  readonly answered: boolean | null;
}

/** The row of a memory. */
export interface StoredMemory {
  readonly number: number;
  readonly id: string;
  readonly delegationId: string;
  readonly callId: string;
  /** A JSON array of ids, as stored. */
  readonly lineage: string;
  readonly profile: string;
  readonly workspace: string | null;
  readonly scope: string;
  readonly key: string | null;
  readonly slot: string | null;
  /** A JSON array, as stored. */
  readonly tags: string;
  readonly text: string;
  readonly supersedes: string | null;
  readonly createdAt: number;
}

export interface StoredRecord {
  readonly resourceType: string;
  readonly resourceId: string;
  /**
   * The highest version that the record ever had, also after its deletion, so that no version is
   * used twice. Null: the record was never stored.
   */
  readonly lastVersion: number | null;
  /** Null: deleted. */
  readonly now: {
    readonly version: number;
    /** JSON, as stored. */
    readonly text: string;
    readonly updatedBy: string;
    readonly updatedAt: number;
  } | null;
}
