import type { Contract } from "../contracts/contract.ts";
import type { RunOutcome } from "../events/close-reason.ts";
import type { NewEvent, StoredEvent } from "../events/event.ts";
import type { InboxItem, InboxKind } from "../events/inbox-item.ts";
import type { RootFacts } from "../events/root-facts.ts";
import type { RunState } from "../events/run-state.ts";
import type { Inspection } from "./inspection.ts";
import type { MemoryStore } from "./memory-store.ts";
import type { RecordStore } from "./record-store.ts";
import type { UsageStore } from "./usage-store.ts";
import type { ExecutorStore, WorkerRow } from "./workers.ts";

/**
 * Where events are stored. The stored state of runs, delegations and asks is a projection: a store
 * writes it in the same transaction as the event that changes it.
 *
 * `append` is all-or-nothing and durable before it resolves. It applies only while the caller still
 * owns the run and every event is legal for its delegation: a worker that lost its run gets
 * "fenced", the loser of a race gets "illegal-transition", and neither has written anything.
 * Appends of one process take effect in the order of the calls; those of one turn of the event
 * loop share a transaction, so a caller that has nothing to do in the outside world before the
 * next append need not wait for this one.
 *
 * The control log (`controlRunId`) is read and subscribed to like a run, but is not a run: no list shows
 * it, no worker owns it, and only `changeRecords`, `noteCommand` and `prune` write to it.
 */
export interface Store extends RecordStore, InboxStore {
  /** Fresh ids, unique in the store, given out without waiting. */
  newDelegationId(): string;
  newRunId(): string;
  newAskId(): string;

  append(append: Append): Promise<readonly StoredEvent[]>;

  /** Records an executed command and its result in the control log. Long texts are cut. */
  noteCommand(command: string, actor: string, outcome: string): Promise<void>;

  /** The fold of the run's events; the same live object for a run that this process works on. */
  readRun(runId: string): Promise<RunState | undefined>;
  readEvents(query: EventQuery): AsyncIterable<StoredEvent>;
  /** The contract, compared with the hash in the log. Throws "contract-invalid". */
  readContract(delegationId: string): Promise<Contract>;
  /** The run that a delegation, an ask or a run id belongs to. */
  findRun(id: string): Promise<string | undefined>;
  listRuns(query: RunQuery): Promise<readonly RunRow[]>;

  /** The memories of agents. */
  readonly memories: MemoryStore;

  /** What model requests use of stored limits; absent: a store without limits. */
  readonly usage?: UsageStore;

  /** Requests with an idempotency key. */
  readonly idempotency: IdempotencyStore;

  /**
   * Stores a long text that many delegations share (a system prompt), and returns its hash. The event
   * that refers to it must be appended before anything is awaited: unreferenced texts are pruned.
   */
  keepText(text: string): string;
  readText(hash: string): Promise<string | undefined>;

  /** Bodies that are too large for the log, by their hash. */
  keepArtifact(body: string): Promise<{ readonly hash: string; readonly bytes: number }>;
  readArtifact(hash: string): Promise<string | undefined>;

  /**
   * Claims a run that is orphaned or paused: raises its fence and writes `run.resumed`. Undefined when a
   * worker owns it, it is finished, or another process was faster.
   */
  claimRun(runId: string): Promise<Ownership | undefined>;
  /** The ownership of runs that this process starts. */
  readonly ownership: Ownership;
  isWorkerAlive(worker: string): Promise<boolean>;
  /** The process id of a worker on this machine, where the worker's id contains it. */
  pidOf?(worker: string): number | undefined;
  /** All processes that share the store, including dead ones. */
  workers?(): Promise<readonly WorkerRow[]>;
  /** The queue workers, where there are queues. */
  readonly executors?: ExecutorStore;

  /** Calls `listener` with every committed event of all processes, in order of `seq`. Returns the unsubscribe function. */
  subscribe(listener: (events: readonly StoredEvent[]) => void): () => void;

  /** What models write in other processes, while they write it; absent: a store of one machine. */
  readonly liveText?: LiveText;

  /** Raw access to the stored rows, for verification. */
  inspect?(): Inspection | Promise<Inspection>;

  /**
   * Removes finished runs with everything that only they refer to, except memories. Writes a receipt of
   * each to the control log in the same transaction, so that `verify` accepts the gap.
   */
  prune?(request: PruneRequest): Promise<PruneReport>;

  close(): Promise<void>;
}

/** Best effort: text may be missing, nothing is stored, and without listeners nothing is sent. */
export interface LiveText {
  publish(delegationId: string, text: string): void;
  /** Text that other processes publish. Returns the unsubscribe function. */
  subscribe(listener: (delegationId: string, text: string) => void): () => void;
}

export interface Ownership {
  readonly worker: string;
  readonly fence: number;
}

export interface Append {
  readonly runId: string;
  /** "operator": a person or program that does not own the run (cancel, answer). The lifecycle still applies. */
  readonly by: Ownership | "operator";
  readonly events: readonly NewEvent[];
  /** Throws "conflict" when the run has later events: for decisions that were made by reading. */
  readonly ifRunSeq?: number;
  /**
   * A worker whose lease has expired. It is declared dead with this append, so nothing more that it
   * writes is accepted; "fenced" when it is alive after all, "conflict" when another worker has claimed
   * what the events are about.
   */
  readonly declaresDead?: string;
  /** The contracts of the delegations that these events create. */
  readonly contracts?: ReadonlyMap<string, string>;
  /** What lists show of the root that these events create; absent: the store reads its contract. */
  readonly root?: RootFacts;
}

export interface EventQuery {
  readonly runId?: string;
  readonly delegationId?: string;
  /** Events with a greater `seq`. */
  readonly after?: number;
  /** The types that the reader needs. A store may or may not leave out others. */
  readonly types?: readonly StoredEvent["type"][];
}

export interface RunQuery {
  readonly open?: boolean;
  readonly outcome?: NonNullable<RunRow["outcome"]>;
  readonly application?: string;
  readonly profile?: string;
  readonly model?: string;
  readonly startedBy?: string;
  readonly workspace?: string;
  /** Only runs after this one in the list, which are older. */
  readonly before?: string;
  readonly limit?: number;
}

/** The stored row of a run. */
export interface RunRow extends RootFacts {
  readonly id: string;
  readonly task: string;
  readonly application: string;
  readonly workspace: string | null;
  readonly outcome: RunOutcome | null;
  readonly worker: string;
  readonly startedAt: number;
  readonly finishedAt: number | null;
  readonly delegations: number;
  readonly tokens: number;
  readonly cost: number;
}

/**
 * Stores bodies that are too large for the log, by their hash; `keep` is idempotent. A body is durable
 * when `keep` resolves, because the event that refers to it must not outlive it. `read` of a text that
 * is not a hash finds nothing.
 */
export interface ArtifactStore {
  keep(body: string): Promise<{ readonly hash: string; readonly bytes: number }>;
  read(hash: string): Promise<string | undefined>;
  /** All bodies, and when each was last kept, in milliseconds since 1970. */
  list(): AsyncIterable<{ readonly hash: string; readonly keptAt: number }>;
  /** Removes a body, unless it was kept again since: then an event is about to refer to it. */
  remove(hash: string, keptBefore: number): Promise<boolean>;
  /** Removes unfinished bodies of processes that died. */
  removeTorn?(begunBefore: number): Promise<void>;
}

/**
 * Requests by idempotency key, so that a request that is sent twice is executed once. Keys are separate
 * for each principal. `begin` and `finish` are durable when they resolve, so that no crash leads to a
 * second execution.
 */
export interface IdempotencyStore {
  /**
   * Claims the key for this request, or tells its state. Of several concurrent calls, in one process or
   * in several, exactly one gets "begun". Keys from before `forgetBefore` are deleted first, except those
   * of running requests.
   */
  begin(request: KeyedRequest, forgetBefore: number): Promise<KeyStanding>;
  /** Stores the reply, which every repetition gets from then on. */
  finish(key: RequestKey, reply: KeptReply): Promise<void>;
  /** Releases the key of a request that was refused before it had any effect. */
  abandon(key: RequestKey): Promise<void>;
}

export interface RequestKey {
  readonly principal: string;
  readonly key: string;
}

export interface KeyedRequest extends RequestKey {
  /** A hash of the whole request: equal requests have equal fingerprints. */
  readonly fingerprint: string;
}

export interface KeptReply {
  readonly status: number;
  readonly body: string;
}

export type KeyStanding =
  /** The caller has claimed the key, and must call `finish` or `abandon`. */
  | { readonly is: "begun" }
  | { readonly is: "finished"; readonly reply: KeptReply }
  /** The key belongs to another request. */
  | { readonly is: "taken" }
  /** The first request is still running. */
  | { readonly is: "running" }
  /** The process of the first request died, and the outcome is unknown. */
  | { readonly is: "unknown" };

/**
 * The stored inbox of all runs. Items are a projection of the log, written in the transaction of their
 * events. Reading does not remove them; each reader has its own cursor.
 */
export interface InboxStore {
  /**
   * Items in their order. With `after`: the first items after that id; otherwise the last items, or the
   * last ones before `before`.
   */
  readInbox(query: InboxQuery): Promise<readonly InboxItem[]>;
  /** The id of the last item that a reader has seen; 0 for a new reader. */
  readCursor(reader: string): Promise<number>;
  /**
   * Moves the cursor, never backwards and never past the last item, so that later items stay unread.
   * Returns the new cursor.
   */
  moveCursor(reader: string, to: number): Promise<number>;
  /** The number of unread items, at most a thousand. */
  unreadCount(reader: string): Promise<number>;
}

export interface InboxQuery {
  /** Items with a greater id. */
  readonly after?: number;
  /** Items with a smaller id. */
  readonly before?: number;
  /** The most items, up to `mostInboxItems`. */
  readonly limit: number;
  /** An empty list selects no item. */
  readonly kinds?: readonly InboxKind[];
  /** Only items that wait for an answer. */
  readonly openOnly?: boolean;
  readonly runId?: string;
}

export const mostInboxItems = 1000;

/** Selects the finished runs to remove. */
export interface PruneRequest {
  /** Runs that finished before this, in milliseconds since 1970. */
  readonly finishedBefore: number;
  readonly actor: string;
  /** The most runs in one call. */
  readonly most: number;
  readonly keepFailed?: boolean;
  /** Runs that are still needed, whatever their age. */
  readonly keep?: ReadonlySet<string>;
  /** Returns the report without removing anything. */
  readonly dryRun?: boolean;
  /** Does nothing when another process has pruned within so many milliseconds. */
  readonly every?: number;
  /**
   * Removes unreferenced bodies that were last kept before this; absent: a day ago. An event may be
   * about to refer to a newer one.
   */
  readonly bodiesBefore?: number;
}

export interface PruneReport {
  /** The removed runs, oldest first. */
  readonly runs: readonly PrunedRun[];
  /** Runs that stay because their log is damaged: a receipt must not vouch for it. */
  readonly damaged: readonly string[];
  /** Old runs that stay because an open run continues them, or because of `keep`. */
  readonly kept: readonly string[];
  /** Whether there may be further runs to remove. */
  readonly isMore: boolean;
  /** The number of removed bodies. */
  readonly artifacts: number;
}

export interface PrunedRun {
  readonly runId: string;
  readonly outcome: RunOutcome;
  readonly finishedAt: number;
  readonly events: number;
}
