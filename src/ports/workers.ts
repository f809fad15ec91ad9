/** A process that shares the store. */
export interface WorkerRow {
  readonly id: string;
  /** The worker's name in the queues; null: it takes no work from queues. */
  readonly executor: string | null;
  /** The version of the program that takes work from queues; null: not known. */
  readonly version: string | null;
  readonly host: string;
  readonly pid: number;
  readonly startedAt: number;
  /** All times here are by the clock of the store. */
  readonly isAlive: boolean;
  /** When its lease expires or expired; null: it was declared dead, or has shut down. */
  readonly aliveUntil: number | null;
}

/**
 * Queue workers by their executor name, which queues know and which never changes. The id of a worker can
 * change: a worker that was declared dead continues under a new one. A name is remembered until the work
 * that it left behind has been re-enqueued.
 */
export interface ExecutorStore {
  /** Registers this process under that name, whatever its id becomes. */
  enlist(executor: string, version?: string): Promise<void>;
  /**
   * Removes the name of a process whose work has been re-enqueued, unless the process is alive or
   * died only just now. A process that comes back registers again.
   */
  forget(executor: string): Promise<void>;
}

/**
 * Enqueues a delegation for any worker that shares the store. One worker at a time works on it, another
 * one when the first is lost. `dispatch` is idempotent.
 */
export interface Dispatcher {
  dispatch(work: DispatchedWork): Promise<void>;
}

export interface DispatchedWork {
  readonly runId: string;
  readonly delegationId: string;
  /** The depth of the delegation below the root. */
  readonly depth: number;
  readonly profile: string;
  /** The provider of the delegation's model. */
  readonly provider: string;
}
