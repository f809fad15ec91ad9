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
