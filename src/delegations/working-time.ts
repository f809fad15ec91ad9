import { type Delegation, openAskOf } from "../events/delegation.ts";
import type { Timer } from "../ports/clock.ts";
import type { LiveDelegation, OpenCalls } from "./live-delegation.ts";

/**
 * The time and the slot of a delegation. The total deadline runs from beginning to end; the time of
 * an attempt runs only while it has a slot. Neither runs while the delegation, or all that it waits
 * for, waits for a person.
 */
export class WorkingTime {
  hasSlot = false;
  /** What was used of the total, in milliseconds, when time was last counted. */
  usedMs = 0;
  /** The same of the present attempt. */
  attemptMs = 0;
  beganAt = 0;
  /** The request under way: ends itself when it was silent for too long, or says how long is left. */
  watched: { check(): number } | null = null;
  readonly #live: LiveDelegation;
  #countedAt = 0;
  #isStill = false;
  /** How many of its children stand still. */
  #below = 0;
  #timer: Timer | undefined;
  #isWatching = false;

  constructor(live: LiveDelegation) {
    this.#live = live;
  }

  /** Milliseconds of the total deadline that are left, by a clock that cannot jump. */
  left(): number {
    return this.#live.contract.deadlines.total - this.usedMs - this.#uncounted();
  }

  /** Work begins, or continues after a crash: from here the total deadline runs. */
  begin(): void {
    this.beginEnd();
    this.#restart();
  }

  /** Only the close is left to do, after a crash: no deadline is about that. */
  beginEnd(): void {
    this.beganAt = this.#now();
    this.#countedAt = this.beganAt;
  }

  nextAttempt(): void {
    this.#count();
    this.attemptMs = 0;
    this.#restart();
  }

  /** No deadline is about what follows. */
  end(): void {
    this.#isWatching = false;
    this.#timer?.cancel();
  }

  /** After every event: whether time runs now, which may decide the same for the parent. */
  consider(): void {
    const { parent, said, state } = this.#live;
    const isStill = standsStill(state, said.openCalls, this.#below);
    if (isStill === this.#isStill) return;
    this.#count();
    this.#isStill = isStill;
    // The timer did not wait for a deadline that stood still.
    if (!isStill && this.#isWatching) this.#restart();
    if (parent === null) return;
    parent.process.time.#below += isStill ? 1 : -1;
    parent.process.time.consider();
  }

  giveSlot(): void {
    if (!this.hasSlot) return;
    this.#count();
    this.hasSlot = false;
    this.#live.run.parts.scheduler.leave();
  }

  /** Undefined when it has a slot again at once. */
  takeSlot(): Promise<void> | undefined {
    const { contract, process, run, work } = this.#live;
    // A watcher works without one: it must not take slots from those that it watches.
    if (this.hasSlot || contract.profile.capability === "watcher") return undefined;
    const waiting = run.parts.scheduler.comeBack();
    if (waiting === undefined) this.#gotSlot();
    return waiting?.then(() => {
      this.#gotSlot();
      // It closed, was suspended or lost while it queued: the slot is for the next one.
      if (process.end.isEnding || work.isParked || run.lost) this.giveSlot();
    });
  }

  /** Resolves when a request of the run was settled: what it had reserved may be free now. */
  untilReleased(): Promise<void> {
    return this.#live.run.funds.next();
  }

  #gotSlot(): void {
    this.#count();
    this.hasSlot = true;
    // The timer did not wait for the attempt, whose time stood still without a slot.
    if (this.#timer !== undefined && !this.#live.process.end.isEnding) this.#restart();
  }

  #restart(): void {
    this.#isWatching = true;
    this.#timer?.cancel();
    this.#watch();
  }

  /**
   * One timer for the deadlines of the whole, of the attempt and of the request under way. It may
   * fire too early, never too late: a request that begins later has no earlier deadline than this.
   */
  #watch(): void {
    const { contract, run, work } = this.#live;
    const { deadlines, execution } = contract;
    const left = this.#isStill ? Number.POSITIVE_INFINITY : this.left();
    if (left <= 0) {
      work.stop({ code: "total_deadline", ms: deadlines.total });
      return;
    }
    const attemptLeft =
      this.hasSlot && !this.#isStill
        ? execution.attempt_timeout_ms - this.attemptMs - this.#uncounted()
        : left;
    if (attemptLeft <= 0) {
      work.endAttempt({ code: "attempt_deadline", ms: execution.attempt_timeout_ms });
      return;
    }
    const request = this.watched?.check() ?? Math.min(deadlines.first_token, deadlines.stall);
    const next = Math.max(Math.min(left, attemptLeft, request), 1);
    this.#timer = run.parts.clock.after(next, () => this.#watch());
  }

  /** Adds up what has passed, before it changes whether time counts. */
  #count(): void {
    const passed = this.#uncounted();
    this.usedMs += passed;
    if (this.hasSlot) this.attemptMs += passed;
    this.#countedAt = this.#now();
  }

  #uncounted(): number {
    return this.beganAt === 0 || this.#isStill ? 0 : this.#now() - this.#countedAt;
  }

  #now(): number {
    return this.#live.run.parts.clock.monotonic();
  }
}

/**
 * Whether a delegation only waits for a person: a question of its own is open, or it does nothing
 * but wait for others of which `below` stand still. Pure: asked of live and of logged delegations.
 */
export function standsStill(state: Delegation, openCalls: OpenCalls, below: number): boolean {
  if (openAskOf(state) !== null) return true;
  if (below === 0) return false;
  // It has answered, and waits for its background children.
  if (state.status === "waiting_for_merge") return true;
  if (state.status !== "running" || state.reservation !== null) return false;
  for (const { joins } of openCalls.values()) if (!joins) return false;
  return openCalls.size > 0;
}

/**
 * Gives out slots, first come first served. An agent that only waits (for children, for a person)
 * hands its slot back and queues again at the front when it can go on, so a tree of any shape
 * cannot lock itself up.
 */
export class Scheduler {
  readonly #limit: number;
  #running = 0;
  #isGiving = false;
  readonly #queue = new Queue<() => void>();
  readonly #returning = new Queue<() => void>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  get running(): number {
    return this.#running;
  }

  get queued(): number {
    return this.#queue.length + this.#returning.length;
  }

  /** Calls `start` now if there is a slot, later otherwise. */
  enter(start: () => void): void {
    if (this.#running < this.#limit && this.#returning.length === 0 && this.#queue.length === 0) {
      this.#running++;
      start();
    } else {
      this.#queue.push(start);
    }
  }

  leave(): void {
    this.#running--;
    this.#next();
  }

  /** For one that waited without a slot; undefined when it has one again at once. */
  comeBack(): Promise<void> | undefined {
    if (this.#running < this.#limit) {
      this.#running++;
      return undefined;
    }
    return new Promise((resolve) => this.#returning.push(resolve));
  }

  #next(): void {
    // A delegation that closed before it began leaves inside this loop; ten thousand must not nest.
    if (this.#isGiving) return;
    this.#isGiving = true;
    while (this.#running < this.#limit) {
      const start = this.#returning.shift() ?? this.#queue.shift();
      if (start === undefined) break;
      this.#running++;
      start();
    }
    this.#isGiving = false;
  }
}

/** Array.shift moves every element; a queue of ten thousand should not. */
class Queue<Item> {
  #items: Item[] = [];
  #head = 0;

  get length(): number {
    return this.#items.length - this.#head;
  }

  push(item: Item): void {
    this.#items.push(item);
  }

  shift(): Item | undefined {
    const item = this.#items[this.#head];
    if (item === undefined) return undefined;
    this.#head++;
    if (this.#head > 1024 && this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
    return item;
  }
}
