import { type Delegation, openAskOf } from "../events/delegation.ts";
import type { Timer } from "../ports/clock.ts";
import type { LiveDelegation, OpenCalls } from "./live-delegation.ts";

const recheckMs = 1000;

interface WatchedRequest {
  /** Ends the request when it was silent for too long, or says how long is left. */
  check(): number;
  /** The work that waits for the answer was interrupted. */
  abort(reason: unknown): void;
}

/**
 * The time and the slot of a delegation. The total deadline runs from beginning to end; the time of
 * an attempt runs only while it has a slot. Neither runs while the delegation, or all that it waits
 * for, waits for a person.
 */
export class WorkingTime {
  hasSlot = false;
  /** What was used of the total, in milliseconds, when time was last counted. */
  usedMs = 0;
  /** The used time of the present attempt, in milliseconds. */
  attemptMs = 0;
  beganAt = 0;
  /** The request under way. */
  watched: WatchedRequest | null = null;
  readonly #live: LiveDelegation;
  #countedAt = 0;
  #isStill = false;
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
    const { parent, run, said, state } = this.#live;
    const isStill = standsStill(state, said.openCalls, this.#below);
    if (isStill === this.#isStill) return;
    this.#count();
    this.#isStill = isStill;
    // The timer did not wait for a deadline that stood still.
    if (!isStill && this.#isWatching) this.#restart();
    // In a distributed run, the log says for every delegation who stands still: see `StillBelow`.
    if (parent === null || run.execution.log !== null) return;
    parent.process.time.countBelow(parent.process.time.#below + (isStill ? 1 : -1));
  }

  /** Notes how many children stand still. */
  countBelow(below: number): void {
    this.#below = below;
    this.consider();
  }

  giveSlot(): void {
    if (!this.hasSlot) return;
    this.#count();
    this.hasSlot = false;
    this.#live.run.parts.scheduler.leave(this.#lane);
  }

  /** Undefined when it has a slot again at once. */
  takeSlot(): Promise<void> | undefined {
    const { contract, process, run, work } = this.#live;
    // A watcher works without one: it must not take slots from those that it watches.
    if (this.hasSlot || contract.profile.capability === "watcher") return undefined;
    const waiting = run.parts.scheduler.comeBack(this.#lane);
    if (waiting === undefined) this.#gotSlot();
    return waiting?.then(() => {
      this.#gotSlot();
      // A delegation that closed, was suspended or was lost while it queued returns the slot.
      if (process.end.isEnding || work.isParked || run.lost) this.giveSlot();
    });
  }

  /** Waits without its slot, which others may use until then. */
  async withoutSlot<Value>(waiting: Promise<Value>): Promise<Value> {
    this.giveSlot();
    try {
      return await this.#live.work.interruptible(waiting);
    } finally {
      const back = this.#live.work.interruption === null ? this.takeSlot() : undefined;
      if (back) await this.#live.work.interruptible(back);
    }
  }

  /**
   * Resolves when a request of the run was settled, so that what it had reserved may be free, and after
   * a second anyway: the event that would say so may have been written before this process listened.
   */
  untilReleased(): Promise<void> {
    const { funds, parts } = this.#live.run;
    return funds.next({ clock: parts.clock, ms: recheckMs });
  }

  get #lane(): string {
    const { contract, run } = this.#live;
    return run.parts.laneOf?.(contract) ?? "";
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
  // The delegation has answered, and waits for its background children.
  if (state.status === "waiting_for_merge") return true;
  if (state.status !== "running" || state.reservations.length > 0) return false;
  for (const { joins } of openCalls.values()) if (!joins) return false;
  return openCalls.size > 0;
}
