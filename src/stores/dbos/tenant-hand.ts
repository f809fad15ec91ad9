import { type Clock, sleep, systemClock } from "../../ports/clock.ts";
import type { Store } from "../../ports/store.ts";
import type { DbosDispatcher } from "./dbos-dispatcher.ts";
import type { EngineRows, TakeRequest } from "./engine-rows.ts";
import { type QueuedWork, workflowIdOf } from "./queues.ts";

/** What a worker has for one tenant. */
export interface TenantWork {
  readonly store: Store;
  readonly dispatcher: DbosDispatcher;
  readonly worker: {
    workOn(
      work: QueuedWork,
      options: { readonly isLastResort: boolean; readonly onQueued: () => void },
    ): Promise<"done" | "busy" | "unfit">;
    /** Delegations that were begun here and have no place now. */
    readonly suspended: ReadonlySet<string>;
    reenqueueOrphans(): Promise<void>;
    /** Releases what they hold and ends those whose time is over; gives those that are still orphaned. */
    tendOrphans(orphans: readonly Orphan[]): Promise<readonly Orphan[]>;
  };
}

/** Work of a dead worker, and since when this one knows. */
interface Orphan extends QueuedWork {
  readonly noticedAt: number;
}

const busyMs = 250;
const longestBusyMs = 30_000;
/** Between looks while the database cannot be reached. */
const restMs = 1000;
/** After so long without a worker that has what a delegation needs, one takes it all the same. */
const lastResortMs = 180_000;

interface HandOptions extends TenantWork {
  readonly limitsOf: (queue: string) => TakeRequest["limits"];
  readonly onFault: (error: unknown, work?: QueuedWork) => void;
  readonly clock?: Clock;
  readonly tenant: string;
  readonly executor: string;
  readonly look: () => void;
}

/** What this worker has taken from one tenant's queues. */
export class TenantHand {
  isDraining = false;
  /** Taken, and not yet at a place or known to need none. */
  arriving = 0;
  readonly #options: HandOptions;
  readonly #clock: Clock;
  /** The work that this worker holds, by workflow id. */
  readonly #held = new Map<string, QueuedWork>();
  readonly #marked = new Set<string>();
  readonly #unfit = new Unfit();
  #ended: QueuedWork[] = [];
  #isFinishing = false;
  /** The time before which the queue is not asked again, after a query that failed. */
  #restsUntil = 0;
  #orphans: readonly Orphan[] = [];

  get tenant(): string {
    return this.#options.tenant;
  }

  constructor(options: HandOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  /** Takes work from a queue, and returns how many delegations it took. */
  async take(queue: string, most: number): Promise<number> {
    const { dispatcher, executor, limitsOf, onFault } = this.#options;
    if (this.#clock.monotonic() < this.#restsUntil) return 0;
    const except = this.#unfit.resting(this.#clock.monotonic());
    this.arriving += most;
    try {
      const request = { queue, executor, most, except, limits: limitsOf(queue) };
      const taken = await dispatcher.rows.take(request);
      this.arriving += taken.length;
      for (const work of taken) void this.#work(work);
      return taken.length;
    } catch (error) {
      onFault(error);
      this.#restsUntil = this.#clock.monotonic() + restMs;
      return 0;
    } finally {
      this.arriving -= most;
    }
  }

  async tend(isThorough: boolean): Promise<void> {
    const { dispatcher, executor, store, worker } = this.#options;
    const { rows } = dispatcher;
    await this.#mark();
    if (isThorough) await dispatcher.adoptEarlier();
    const lost = await takeOverLost({
      ...{ rows, store, self: executor, clock: this.#clock },
    });
    const noticedAt = this.#clock.monotonic();
    const orphans = [...this.#orphans, ...lost.map((work) => ({ ...work, noticedAt }))];
    if (orphans.length > 0) this.#orphans = await worker.tendOrphans(orphans);
    // A process that died between creating and sending a delegation left it in no queue.
    if (isThorough) await worker.reenqueueOrphans();
    if (lost.length > 0) this.#options.look();
  }

  /** Until the delegation has closed, or is handed to its caller or to another worker. */
  async #work(work: QueuedWork): Promise<void> {
    const { dispatcher, executor, onFault, tenant, worker } = this.#options;
    const id = workflowIdOf(tenant, work);
    let isArriving = true;
    const onQueued = (): void => {
      if (isArriving) this.arriving--;
      isArriving = false;
    };
    this.#held.set(id, work);
    const isLastResort = this.#unfit.isLastResort(work, this.#clock.monotonic());
    for (let failures = 0; ; ) {
      const outcome = await worker
        .workOn(work, { isLastResort, onQueued })
        .catch((error: unknown) => {
          // A failure of this process, such as an unreachable database, is no end of the delegation.
          if (failures++ === 0) onFault(error, work);
          return "busy" as const;
        });
      onQueued();
      if (outcome === "done") {
        this.#finish(work);
        break;
      }
      // The other workers find that this worker is gone, and what it had.
      if (this.isDraining) break;
      if (outcome === "unfit") {
        this.#unfit.note(work, this.#clock.monotonic());
        await dispatcher.rows.giveBack([work], executor).catch(() => undefined);
        break;
      }
      // The worker of the delegation is alive, or its lease has not expired yet.
      await sleep(this.#clock, Math.min(busyMs * 2 ** failures, longestBusyMs));
      const isHeld = await dispatcher.rows.isHeld(work, executor).catch(() => true);
      if (!isHeld) break;
    }
    this.#held.delete(id);
    this.#marked.delete(id);
    this.#options.look();
  }

  /** Finishes work. Delegations that end in one moment share one statement. */
  #finish(work: QueuedWork): void {
    this.#ended.push(work);
    if (this.#isFinishing) return;
    this.#isFinishing = true;
    setImmediate(() => void this.#finishAll());
  }

  async #finishAll(): Promise<void> {
    while (this.#ended.length > 0) {
      const ended = this.#ended.splice(0);
      // A row that stays is found when this worker is gone, and its delegation has closed by then.
      await this.#options.dispatcher.rows.finish(ended).catch(() => undefined);
    }
    this.#isFinishing = false;
  }

  /** Writes which delegations have no place, for those who look at the queues and for shared limits. */
  async #mark(): Promise<void> {
    const { dispatcher, executor, worker } = this.#options;
    const { suspended: ids } = worker;
    const suspended: QueuedWork[] = [];
    const working: QueuedWork[] = [];
    for (const [id, work] of this.#held) {
      const isSuspended = ids.has(work.delegationId);
      if (isSuspended === this.#marked.has(id)) continue;
      (isSuspended ? suspended : working).push(work);
      if (isSuspended) this.#marked.add(id);
      else this.#marked.delete(id);
    }
    if (suspended.length + working.length === 0) return;
    await dispatcher.rows.mark(executor, { suspended, working });
  }
}

/** Delegations for which this worker lacks something: they are left to others, longer each time. */
class Unfit {
  readonly #seen = new Map<
    string,
    { work: QueuedWork; first: number; times: number; until: number }
  >();

  note(work: QueuedWork, now: number): void {
    const { first = now, times = 0 } = this.#seen.get(work.delegationId) ?? {};
    const until = now + Math.min(1000 * 2 ** times, 30_000);
    this.#seen.set(work.delegationId, { work, first, times: times + 1, until });
  }

  resting(now: number): readonly QueuedWork[] {
    const resting: QueuedWork[] = [];
    for (const [id, { until, work }] of this.#seen) {
      if (until > now) resting.push(work);
      // Another worker took the delegation.
      else if (now - until > lastResortMs) this.#seen.delete(id);
    }
    return resting;
  }

  isLastResort({ delegationId }: QueuedWork, now: number): boolean {
    const seen = this.#seen.get(delegationId);
    return seen !== undefined && now - seen.first > lastResortMs;
  }
}

export interface TakeOver {
  readonly rows: Pick<EngineRows, "putBackLost">;
  readonly store: Pick<Store, "workers" | "executors">;
  /** The id of the executor that asks. */
  readonly self: string;
  readonly clock: Clock;
}

/** A database that answers so late was unreachable, and every lease has expired. */
const lateMs = 2000;

/**
 * Puts the work that dead workers of one tenant had taken back into its queues, and forgets executors
 * that have no work left. What unknown executors have is lost as well. Several workers may do so at once: the first to claim a delegation works on
 * it. Returns what was put back.
 */
export async function takeOverLost(look: TakeOver): Promise<readonly QueuedWork[]> {
  const { clock, rows, self, store } = look;
  const askedAt = clock.monotonic();
  const living = new Set([self]);
  const workers = (await store.workers?.()) ?? [];
  for (const { executor, isAlive } of workers) if (executor && isAlive) living.add(executor);
  // Live workers renew their leases in a moment: none counts as dead until it could.
  if (clock.monotonic() - askedAt > lateMs) return [];
  const dead = new Set(workers.flatMap(({ executor }) => executor ?? []));
  for (const executor of living) dead.delete(executor);
  const lost = await rows.putBackLost(self);
  for (const executor of dead) await store.executors?.forget(executor);
  return lost;
}
