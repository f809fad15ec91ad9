import type { Agent } from "./agent.ts";

/**
 * The time that an agent has: of the whole, from its beginning to its end, and of its attempt, which
 * runs only while it has a slot. Waiting for children, people or a slot uses none of an attempt.
 */
export class WorkingTime {
  hasSlot = false;
  /** What it had used before this process took it up. */
  usedMs = 0;
  beganAt = 0;
  /** How long the present attempt was at work before it last got its slot. */
  attemptMs = 0;
  /** The request under way: says how long it may still be silent, and ends itself when that is over. */
  watched: { check(): number } | null = null;
  readonly #agent: Agent;
  #atWorkSince = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(agent: Agent) {
    this.#agent = agent;
  }

  /** Milliseconds of the total deadline that are left, by a clock that cannot jump. */
  left(): number {
    const { total } = this.#agent.contract.deadlines;
    if (this.beganAt === 0) return total - this.usedMs;
    return total - this.usedMs - (this.#now() - this.beganAt);
  }

  /** Work begins, or goes on after a crash: from here the total deadline runs. */
  begin(): void {
    this.beganAt = this.#now();
    if (this.hasSlot) this.#atWorkSince = this.beganAt;
    // It may begin again from its log: of two timers one would outlive its end.
    this.#watchAnew();
  }

  /** The next attempt begins, with all of its time before it. */
  nextAttempt(): void {
    this.attemptMs = 0;
    if (this.#atWorkSince !== 0) this.#atWorkSince = this.#now();
    this.#watchAnew();
  }

  /** No deadline is about what follows. */
  end(): void {
    clearTimeout(this.#timer);
  }

  giveSlot(): void {
    if (!this.hasSlot) return;
    this.hasSlot = false;
    if (this.#atWorkSince !== 0) {
      this.attemptMs += this.#now() - this.#atWorkSince;
      this.#atWorkSince = 0;
    }
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
      if (agent.isEnding || agent.isParked || agent.run.lost) this.giveSlot();
    });
  }

  #gotSlot(): void {
    this.hasSlot = true;
    this.#atWorkSince = this.#now();
    // While it waited, nobody looked after the time of its attempt.
    if (this.#timer !== undefined && !this.#agent.isEnding) this.#watchAnew();
  }

  #watchAnew(): void {
    clearTimeout(this.#timer);
    this.#watch();
  }

  /**
   * One timer looks after the deadlines of the whole, of the attempt and of the request under way.
   * It may go off too early, never too late: no request's deadline is nearer than this when the
   * request begins.
   */
  #watch(): void {
    const { deadlines, execution } = this.#agent.contract;
    const left = this.left();
    if (left <= 0) {
      this.#agent.stop("timeout", `It took longer than ${deadlines.total} ms.`);
      return;
    }
    const attemptLeft = this.#atWorkSince === 0 ? left : this.#attemptLeft();
    if (attemptLeft <= 0) {
      this.#agent.endAttempt(`An attempt took longer than ${execution.attempt_timeout_ms} ms.`);
      return;
    }
    const request = this.watched?.check() ?? Math.min(deadlines.first_token, deadlines.stall);
    const next = Math.min(left, attemptLeft, request);
    this.#timer = setTimeout(() => this.#watch(), Math.min(Math.max(next, 1), longestTimer));
  }

  /** Milliseconds of the attempt that are left. */
  #attemptLeft(): number {
    const { attempt_timeout_ms: most } = this.#agent.contract.execution;
    const since = this.#atWorkSince;
    return most - this.attemptMs - (since === 0 ? 0 : this.#now() - since);
  }

  #now(): number {
    return this.#agent.run.parts.clock.monotonic();
  }
}

/** What a timer can hold. */
const longestTimer = 2 ** 31 - 1;
