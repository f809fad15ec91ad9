/** A process that shares the store, as everybody sees it. */
export interface WorkerRow {
  readonly id: string;
  /** The name under which it takes work out of queues; null: it takes none. */
  readonly executor: string | null;
  readonly host: string;
  readonly pid: number;
  readonly startedAt: number;
  /** By the clock of the store, like all moments here. */
  readonly isAlive: boolean;
  /** Until when it counts, or counted, as alive; null: it was declared dead, or left in order. */
  readonly aliveUntil: number | null;
}

/**
 * Who takes work out of queues, which know workers by a name that never changes. A worker's own id
 * may: a worker that was declared dead continues under another. So what was taken can always be held
 * against who lives, and who left something behind is known until it was looked after.
 */
export interface ExecutorStore {
  /** From here on this process is known by that name, whatever its id becomes. */
  enlist(executor: string): Promise<void>;
  /**
   * Nothing is left of what it had taken. It is forgotten unless it lives, or did just now; should
   * it come back it enlists again.
   */
  forget(executor: string): Promise<void>;
}

/**
 * Finds a worker for a delegation: this process or any other that shares the store. What is
 * dispatched is worked on by one worker at a time, again by another when that one is lost, and to
 * dispatch it twice is to dispatch it once.
 */
export interface Dispatcher {
  dispatch(work: DispatchedWork): Promise<void>;
}

export interface DispatchedWork {
  readonly runId: string;
  readonly delegationId: string;
  /** Below its run's root. A waiting delegation is never deeper than those that it waits for. */
  readonly depth: number;
  readonly profile: string;
  /** Of the model that it runs on. */
  readonly provider: string;
  /** The fence of the worker that was lost with it: it is sent once more, and once for each. */
  readonly after?: number;
}
