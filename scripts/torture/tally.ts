import type { LifeReport } from "./life.ts";
import type { Outcome } from "./outcome.ts";

/** What has happened so far, all runs together. */
export class Tally {
  lives = 0;
  kills = 0;
  /** Processes that said why they could not go on, and ended. */
  gaveUp = 0;
  /** Delegations that failed because the disk did. */
  hit = 0;
  runs = 0;
  cutCalls = 0;
  children = 0;
  events = 0;
  acknowledged = 0;
  secondRecoveries = 0;
  readonly recoveries: number[] = [];
  readonly #onChange: () => void;

  constructor(onChange: () => void = () => {}) {
    this.#onChange = onChange;
  }

  lived(life: LifeReport): void {
    this.lives += 1;
    if (life.ended === "killed") this.kills += 1;
    if (life.ended === "gave-up") this.gaveUp += 1;
    if (life.recoveryMs !== undefined) this.recoveries.push(life.recoveryMs);
    this.secondRecoveries += life.recoveredAgain;
    this.#onChange();
  }

  finished(outcome: Outcome, events: number, acknowledged: number): void {
    this.runs += 1;
    this.cutCalls += outcome.cutCalls;
    this.hit += [...outcome.delegations.values()].filter(({ wasHit }) => wasHit).length;
    this.children += outcome.delegations.size - 1;
    this.events += events;
    this.acknowledged += acknowledged;
    this.#onChange();
  }

  get worstRecovery(): number {
    return this.recoveries.reduce((worst, each) => Math.max(worst, each), 0);
  }

  get medianRecovery(): number {
    const sorted = this.recoveries.toSorted((left, right) => left - right);
    return sorted[sorted.length >> 1] ?? 0;
  }
}
