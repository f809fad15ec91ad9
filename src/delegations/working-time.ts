import type { Timer } from "../ports/clock.ts";
import type { LiveDelegation } from "./live-delegation.ts";
import { standsStill } from "./standing-still.ts";

/**
 * The time that an agent has: of the whole, from its beginning to its end, and of its attempt, which
 * runs only while it has a slot. Waiting for children or a slot uses none of an attempt; waiting for
 * a person, its own question or one of those below it, uses none of either.
 */
export class WorkingTime {
  hasSlot = false;
  /** What it had used when its time was last counted. */
  usedMs = 0;
  beganAt = 0;
  /** How long the present attempt was at work when that was last counted. */
  attemptMs = 0;
  /** The request under way: says how long it may still be silent, and ends itself when that is over. */
  watched: { check(): number } | null = null;
  readonly #agent: LiveDelegation;
  #countedAt = 0;
  #isStill = false;
  /** How many of its children stand still. */
  #below = 0;
  #timer: Timer | undefined;
  #isWatching = false;

  constructor(agent: LiveDelegation) {
    this.#agent = agent;
  }

  /** Milliseconds of the total deadline that are left, by a clock that cannot jump. */
  left(): number {
    return this.#agent.contract.deadlines.total - this.usedMs - this.#uncounted();
  }

  /** Work begins, or goes on after a crash: from here the total deadline runs. */
  begin(): void {
    this.beginEnd();
    // It may begin again from its log: of two timers one would outlive its end.
    this.#watchAnew();
  }

  /** What was handed in is dealt with after a crash: no deadline is about that. */
  beginEnd(): void {
    this.beganAt = this.#now();
    this.#countedAt = this.beganAt;
  }

  /** The next attempt begins, with all of its time before it. */
  nextAttempt(): void {
    this.#count();
    this.attemptMs = 0;
    this.#watchAnew();
  }

  /** No deadline is about what follows. */
  end(): void {
    this.#isWatching = false;
    this.#timer?.cancel();
  }

  /** After every event of it: whether its time runs, which decides about those above it as well. */
  consider(): void {
    const { parent, said, state } = this.#agent;
    const isStill = standsStill(state, said.openCalls, this.#below);
    if (isStill === this.#isStill) return;
    this.#count();
    this.#isStill = isStill;
    // While it stood still, its deadlines were not what the timer waited for.
    if (!isStill && this.#isWatching) this.#watchAnew();
    if (parent !== null) parent.process.time.#considerBelow(isStill ? 1 : -1);
  }

  #considerBelow(more: number): void {
    this.#below += more;
    this.consider();
  }

  giveSlot(): void {
    if (!this.hasSlot) return;
    this.#count();
    this.hasSlot = false;
    this.#agent.run.parts.scheduler.leave();
  }

  /** Undefined when it has a slot again at once. */
  takeSlot(): Promise<void> | undefined {
    const agent = this.#agent;
    // A watcher works without one: it must not take from those whom it watches.
    if (this.hasSlot || agent.contract.profile.capability === "watcher") return undefined;
    const waiting = agent.run.parts.scheduler.comeBack();
    if (waiting === undefined) {
      this.#gotSlot();
      return undefined;
    }
    return waiting.then(() => {
      this.#gotSlot();
      // It ended, rests or went to another process while it queued: the slot goes to the next one.
      if (agent.process.end.isEnding || agent.work.isParked || agent.run.lost) this.giveSlot();
    });
  }

  /** Resolves when a request of the run was settled: what it had reserved may be free now. */
  untilReleased(): Promise<void> {
    return this.#agent.run.funds.next();
  }

  #gotSlot(): void {
    this.#count();
    this.hasSlot = true;
    // While it waited, nobody looked after the time of its attempt.
    if (this.#timer !== undefined && !this.#agent.process.end.isEnding) this.#watchAnew();
  }

  #watchAnew(): void {
    this.#isWatching = true;
    this.#timer?.cancel();
    this.#watch();
  }

  /**
   * One timer looks after the deadlines of the whole, of the attempt and of the request under way.
   * It may go off too early, never too late: no request's deadline is nearer than this when the
   * request begins.
   */
  #watch(): void {
    const { deadlines, execution } = this.#agent.contract;
    const left = this.#isStill ? Number.POSITIVE_INFINITY : this.left();
    if (left <= 0) {
      this.#agent.work.stop({ code: "total_deadline", ms: deadlines.total });
      return;
    }
    const attemptLeft = this.hasSlot && !this.#isStill ? this.#attemptLeft() : left;
    if (attemptLeft <= 0) {
      this.#agent.work.endAttempt({ code: "attempt_deadline", ms: execution.attempt_timeout_ms });
      return;
    }
    const request = this.watched?.check() ?? Math.min(deadlines.first_token, deadlines.stall);
    const next = Math.min(left, attemptLeft, request);
    const { clock } = this.#agent.run.parts;
    this.#timer = clock.after(Math.max(next, 1), () => this.#watch());
  }

  /** Milliseconds of the attempt that are left. */
  #attemptLeft(): number {
    const { execution } = this.#agent.contract;
    return execution.attempt_timeout_ms - this.attemptMs - this.#uncounted();
  }

  /** Adds up what has passed: whether it counts is about to change. */
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
    return this.#agent.run.parts.clock.monotonic();
  }
}
