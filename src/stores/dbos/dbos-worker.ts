/**
 * Distributed runs on DBOS: delegations wait in its tables, and this worker takes them out, as many as
 * it has free places. May import ports and events, and types of contracts and control.
 */
import { type Clock, sleep, systemClock, type Timer } from "../../ports/clock.ts";
import type { TakeRequest } from "./engine-rows.ts";
import type { QueuedWork } from "./queues.ts";
import { TenantHand, type TenantWork } from "./tenant-hand.ts";

/** The places of this worker, which new and resumed work of all tenants share. */
export interface Places {
  readonly running: number;
  free(queue: string): number;
  onFree: () => void;
}

export interface WorkerOptions {
  /** By name. The first one's worker id is the name of this worker in the queues of all of them. */
  readonly tenants: ReadonlyMap<string, TenantWork>;
  /** The names of the queues, those of smaller priority first. */
  readonly queues: readonly string[];
  /** Limits of all workers together. */
  readonly limitsOf: (queue: string) => TakeRequest["limits"];
  readonly places: Places;
  /** What failed and is tried again, with the work that it was about. */
  readonly onFault: (error: unknown, work?: QueuedWork) => void;
  /** Whether a tenant's queue is neither paused nor this worker drained. */
  readonly mayTake: (tenant: string, queue: string) => boolean;
  /** The version of this program, shown to operators. */
  readonly version: string;
  readonly clock?: Clock;
}

const lookMs = 100;
const tendMs = 1000;
/** Every 30th time, delegations that are in no queue are looked for as well. */
const thoroughEvery = 30;
/** A tick that comes so late was preceded by an outage, in which every lease may have expired. */
const lateMs = 4000;
/** Takes delegations out of the queues and works on them, as long as it has free places. */
export class DbosWorker {
  readonly #options: WorkerOptions;
  readonly #clock: Clock;
  readonly #hands: TenantHand[];
  readonly #timers: Timer[] = [];
  #isDraining = false;
  #isLooking = false;
  #isAsked = false;
  #tended: number | undefined;
  #ticks = 0;
  #isTending = false;

  private constructor(options: WorkerOptions, executor: string) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    const look = (): void => this.#look();
    this.#hands = Array.from(
      options.tenants,
      ([tenant, work]) => new TenantHand({ ...work, ...options, tenant, executor, look }),
    );
  }

  static async start(options: WorkerOptions): Promise<DbosWorker> {
    const [first] = options.tenants.values();
    if (first === undefined) throw new Error("a worker needs a tenant");
    const executor = first.store.ownership.worker;
    // Before it takes any work: the work of an unknown executor counts as lost.
    for (const { store } of options.tenants.values())
      await store.executors?.enlist(executor, options.version);
    const worker = new DbosWorker(options, executor);
    worker.#begin();
    return worker;
  }

  /** Work may be taken that could not be taken before. */
  lookAgain(): void {
    this.#look();
  }

  /** The number of delegations with a place. */
  get running(): number {
    return this.#options.places.running;
  }

  /** Takes no more work, and gives work in progress this long to end; the rest is for other workers. */
  async drain(graceMs: number): Promise<void> {
    this.#isDraining = true;
    for (const timer of this.#timers) timer.cancel();
    for (const hand of this.#hands) hand.isDraining = true;
    const until = this.#clock.monotonic() + graceMs;
    const isBusy = () => this.running > 0 || this.#hands.some(({ arriving }) => arriving > 0);
    while (isBusy() && this.#clock.monotonic() < until) await sleep(this.#clock, 20);
  }

  #begin(): void {
    const { places, tenants } = this.#options;
    places.onFree = () => this.#look();
    for (const { dispatcher } of tenants.values()) dispatcher.onEnqueued = () => this.#look();
    // A worker that waits for work keeps its process.
    this.#timers.push(this.#clock.every(lookMs, () => this.#look()));
    this.#timers.push(this.#clock.every(tendMs, () => void this.#tend()).unref());
    this.#look();
    void this.#tend();
  }

  /** At most one look at a time; one that is asked for in the middle of another follows it. */
  #look(): void {
    if (this.#isDraining) return;
    this.#isAsked = true;
    if (this.#isLooking) return;
    this.#isLooking = true;
    setImmediate(() => void this.#lookWhileAsked());
  }

  async #lookWhileAsked(): Promise<void> {
    while (this.#isAsked && !this.#isDraining) {
      this.#isAsked = false;
      for (const queue of this.#options.queues)
        if (await this.#takeFrom(queue)) this.#isAsked = true;
    }
    this.#isLooking = false;
  }

  /** True: there may be more. Tenants get equal shares of the free places. */
  async #takeFrom(queue: string): Promise<boolean> {
    const free = this.#freeIn(queue);
    if (free <= 0) return false;
    const share = Math.ceil(free / this.#hands.length);
    let isMore = false;
    for (const hand of this.#hands) {
      if (!this.#options.mayTake(hand.tenant, queue)) continue;
      const most = Math.min(share, this.#freeIn(queue));
      if (most > 0 && (await hand.take(queue, most)) === most) isMore = true;
    }
    // The tenant that was first is last the next time.
    this.#hands.push(...this.#hands.splice(0, 1));
    return isMore;
  }

  #freeIn(queue: string): number {
    const arriving = this.#hands.reduce((sum, hand) => sum + hand.arriving, 0);
    return this.#options.places.free(queue) - arriving;
  }

  /** Every worker looks for the work of dead workers, and for work that was never sent. */
  async #tend(): Promise<void> {
    const now = this.#clock.monotonic();
    const isLate = this.#tended !== undefined && now - this.#tended > lateMs;
    if (this.#isTending || this.#isDraining) return;
    this.#isTending = true;
    const isThorough = this.#ticks++ % thoroughEvery === 0;
    for (const hand of this.#hands) {
      // Live workers renew their leases in a moment: after an outage none counts as dead until it could.
      if (isLate) break;
      await hand.tend(isThorough).catch((error: unknown) => this.#options.onFault(error));
    }
    this.#tended = this.#clock.monotonic();
    this.#isTending = false;
  }
}
