import type { Contract } from "../contracts/contract.ts";
import type { NewEvent, StoredEvent } from "../events/event.ts";
import type { RunOutcome } from "../events/run-outcome.ts";
import type { RunState } from "../events/run-state.ts";
import type { IdempotencyStore } from "./idempotency-store.ts";
import type { InboxStore } from "./inbox-store.ts";
import type { Inspection } from "./inspection.ts";
import type { MemoryStore } from "./memory-store.ts";
import type { PruneReport, PruneRequest } from "./prune.ts";
import type { RecordStore } from "./record-store.ts";
import type { ExecutorStore, WorkerRow } from "./worker-row.ts";

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
