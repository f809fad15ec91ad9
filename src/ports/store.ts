import type { Contract } from "../contracts/contract.ts";
import type { RunOutcome } from "../events/close-reason.ts";
import type { NewEvent, StoredEvent } from "../events/event.ts";
import type { InboxItem, InboxKind } from "../events/inbox-item.ts";
import type { RunState } from "../events/run-state.ts";
import type { Inspection } from "./inspection.ts";
import type { MemoryStore } from "./memory-store.ts";
import type { RecordStore } from "./record-store.ts";
import type { ExecutorStore, WorkerRow } from "./workers.ts";

/**
 * Where events live, and with them everything else: the stored state of runs, delegations and asks
 * is a projection that a store writes in the same transaction as the event that changes it.
 *
 * `append` is all-or-nothing and durable before it resolves. It applies only while the caller still
 * owns the run and every event is legal for its delegation: a worker that lost its run gets
 * "fenced", the loser of a race gets "illegal-transition", and neither has written anything.
 * Appends of one process take effect in the order of the calls; those of one turn of the event
 * loop share a transaction, so a caller that has nothing to do in the outside world before the
 * next append need not wait for this one.
 *
 * The control log (`controlRunId`) is read and heard like a run and is none: no list shows it,
 * no worker owns it, and only `changeRecords`, `noteCommand` and `prune` write to it.
 */
export interface Store extends RecordStore, InboxStore {
  /** Fresh ids, unique in the store, given out without waiting. */
  newDelegationId(): string;
  newRunId(): string;
  newAskId(): string;

  append(append: Append): Promise<readonly StoredEvent[]>;

  /** Records that a command was given, and its result. Long ones are cut. */
  noteCommand(command: string, actor: string, outcome: string): Promise<void>;

  /** The run as its events tell it now; the same live object for a run this process works on. */
  readRun(runId: string): Promise<RunState | undefined>;
  readEvents(query: EventQuery): AsyncIterable<StoredEvent>;
  /** Parsed and checked against the hash in the log; throws "contract-invalid" otherwise. */
  readContract(delegationId: string): Promise<Contract>;
  /** The run of a delegation, an ask or a run id. */
  findRun(id: string): Promise<string | undefined>;
  listRuns(query: RunQuery): Promise<readonly RunRow[]>;

  /** What agents wrote down for later. */
  readonly memories: MemoryStore;

  /** Requests that programs may send twice. */
  readonly idempotency: IdempotencyStore;

  /**
   * Long texts that many delegations share (system prompts), by their hash. One is there for the
   * append that is made next, before anything is waited for: what nothing refers to is pruned.
   */
  keepText(text: string): string;
  readText(hash: string): Promise<string | undefined>;

  /** Bodies too large for the log, by their hash. */
  keepArtifact(body: string): Promise<{ readonly hash: string; readonly bytes: number }>;
  readArtifact(hash: string): Promise<string | undefined>;

  /**
   * Takes over a run whose worker is gone, or that is paused: raises its fence and writes
   * `run.resumed`, or gives undefined when its worker works on it, it is finished, or another process
   * was faster.
   */
  claimRun(runId: string): Promise<Ownership | undefined>;
  /** What this process presents for runs that it starts. */
  readonly ownership: Ownership;
  isWorkerAlive(worker: string): Promise<boolean>;
  /** The number of a worker's process on this machine, where its id says it. */
  pidOf?(worker: string): number | undefined;
  /** Every process that shares the store, where it knows them; also those that are gone. */
  workers?(): Promise<readonly WorkerRow[]>;
  /** Those who take work out of queues, where there are queues. */
  readonly executors?: ExecutorStore;

  /** Called with every committed event, this process's and others', in order of `seq`. */
  subscribe(listener: (events: readonly StoredEvent[]) => void): () => void;

  /** Shows what is stored, for verifying a store without trusting it. */
  inspect?(): Inspection | Promise<Inspection>;

  /**
   * Removes whole finished runs, with everything that only they refer to, and writes a receipt of
   * each into the control log in the same transaction: so the gap that it leaves is explained, and
   * every other gap is not. Memories stay.
   */
  prune?(request: PruneRequest): Promise<PruneReport>;

  close(): Promise<void>;
}

export interface Ownership {
  readonly worker: string;
  readonly fence: number;
}

export interface Append {
  readonly runId: string;
  /** "operator": a person or program beside the owner (cancel, answer); legality still holds. */
  readonly by: Ownership | "operator";
  readonly events: readonly NewEvent[];
  /** Refused with "conflict" when the run has moved past this: for those who decided by reading. */
  readonly ifRunSeq?: number;
  /** The contracts of delegations that these events create, by delegation. */
  readonly contracts?: ReadonlyMap<string, string>;
}

export interface EventQuery {
  readonly runId?: string;
  readonly delegationId?: string;
  /** Events with a greater `seq`. */
  readonly after?: number;
  /** All that the reader wants of them: a store may leave out others, and need not. */
  readonly types?: readonly StoredEvent["type"][];
}

export interface RunQuery {
  readonly open?: boolean;
  readonly outcome?: NonNullable<RunRow["outcome"]>;
  readonly application?: string;
  /** Those after this one in the list: older than the run of this id. */
  readonly before?: string;
  readonly limit?: number;
}

/** A run in a list, without reading its events. */
export interface RunRow {
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
 * Where bodies too large for the log are kept, by their hash: keeping one twice is keeping it once.
 * A body is durable when `keep` resolves, because the event that names it must never be more durable
 * than the body itself. What is no hash names nothing.
 */
export interface ArtifactStore {
  keep(body: string): Promise<{ readonly hash: string; readonly bytes: number }>;
  read(hash: string): Promise<string | undefined>;
  /** All that there are, and when each was last kept, in milliseconds since 1970. */
  list(): AsyncIterable<{ readonly hash: string; readonly keptAt: number }>;
  /** Removes one, unless it was kept again since: then an event is about to name it. */
  remove(hash: string, keptBefore: number): Promise<boolean>;
  /** Removes what was left by those who did not live to finish keeping a body, where that can be. */
  removeTorn?(begunBefore: number): Promise<void>;
}

/**
 * Which requests were made under a key, so that one that is sent twice is done once. A key belongs
 * to its principal: no principal meets another's. What is begun is durable before `begin` resolves, and
 * what is finished before `finish` does, so that no crash makes a request happen again unnoticed.
 */
export interface IdempotencyStore {
  /**
   * Takes the key for this request, or says what is known of it. Of several that come at once, in
   * one process or in many, one has begun. Keys from before `forgetBefore` are forgotten first,
   * except those of requests that are still running.
   */
  begin(request: KeyedRequest, forgetBefore: number): Promise<KeyStanding>;
  /** What the request was answered with; from here on every repetition is. */
  finish(key: RequestKey, reply: KeptReply): Promise<void>;
  /** It was refused before anything had happened: the key is free again. */
  abandon(key: RequestKey): Promise<void>;
}

export interface RequestKey {
  readonly principal: string;
  readonly key: string;
}

export interface KeyedRequest extends RequestKey {
  /** Of all that was asked: two requests with the same one are the same. */
  readonly fingerprint: string;
}

export interface KeptReply {
  readonly status: number;
  readonly body: string;
}

export type KeyStanding =
  /** It is this caller's now, who has to finish or to abandon it. */
  | { readonly is: "begun" }
  | { readonly is: "finished"; readonly reply: KeptReply }
  /** Another request was made under it. */
  | { readonly is: "taken" }
  /** The first one is still being worked on. */
  | { readonly is: "running" }
  /** The process that worked on it is gone, and its progress is unknown. */
  | { readonly is: "unknown" };

/**
 * What people should know of all runs, as a store keeps it. The items are a projection of the log,
 * written in the transaction of the events that they follow from; they are read by anybody, any
 * number of times, and stay. What a reader has seen is a place in that order, and belongs to that reader alone.
 */
export interface InboxStore {
  /**
   * Items in the order in which they happened. With `after`: the first ones after that place;
   * otherwise the last ones there are, or the last ones before `before`.
   */
  readInbox(query: InboxQuery): Promise<readonly InboxItem[]>;
  /** The place up to which a reader has seen it; 0 for a reader who was never here. */
  readCursor(reader: string): Promise<number>;
  /**
   * Moves that place, never backwards and never past what there is, so that nothing that comes
   * later was seen before it came. Gives the place where it is then.
   */
  moveCursor(reader: string, to: number): Promise<number>;
  /** How many items came after that place; a thousand stands for as many, or more. */
  unreadCount(reader: string): Promise<number>;
}

export interface InboxQuery {
  /** Items with a greater id. */
  readonly after?: number;
  /** Items with a smaller id. */
  readonly before?: number;
  /** At most so many; a thousand are the most that are given at once. */
  readonly limit: number;
  /** None named: none given. */
  readonly kinds?: readonly InboxKind[];
  /** Only what still waits for an answer. */
  readonly openOnly?: boolean;
  readonly runId?: string;
}

export const mostInboxItems = 1000;

/** Which finished runs to remove, and who wants it. */
export interface PruneRequest {
  /** Runs that finished before this, in milliseconds since 1970. */
  readonly finishedBefore: number;
  readonly actor: string;
  /** At most so many in one call. */
  readonly most: number;
  readonly keepFailed?: boolean;
  /** Runs that stay whatever their age: something of theirs is still needed. */
  readonly keep?: ReadonlySet<string>;
  /** Says what would be removed, and removes nothing. */
  readonly dryRun?: boolean;
  /** Not if another process has pruned within so many milliseconds: of several who try, one does. */
  readonly every?: number;
  /**
   * Bodies that nothing refers to are removed when they were last kept before this; absent: a day
   * ago. What was kept lately may be about to be referred to.
   */
  readonly bodiesBefore?: number;
}

export interface PruneReport {
  /** The oldest first. */
  readonly runs: readonly PrunedRun[];
  /** Runs whose log does not hold: a receipt must not vouch for them. */
  readonly damaged: readonly string[];
  /** Old enough, and kept: an open run goes on from them, or the caller wants them. */
  readonly kept: readonly string[];
  /** There may be more than could be removed at once. */
  readonly isMore: boolean;
  /** How many bodies that nothing refers to any more were removed. */
  readonly artifacts: number;
}

export interface PrunedRun {
  readonly runId: string;
  readonly outcome: RunOutcome;
  readonly finishedAt: number;
  readonly events: number;
}
