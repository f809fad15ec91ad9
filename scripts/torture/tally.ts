import type { Fate, LifeReport } from "./life.ts";
import type { Outcome } from "./outcome.ts";

/** What has happened so far, all runs together. */
export class Tally {
  /** Kills asked for that are not used up; one that came too late is put back. */
  killsLeft: number;
  kills = 0;
  runs = 0;
  cutCalls = 0;
  children = 0;
  events = 0;
  acknowledged = 0;
  secondRecoveries = 0;
  readonly recoveries: number[] = [];
  readonly #onChange: () => void;

  constructor(kills: number, onChange: () => void) {
    this.killsLeft = kills;
    this.#onChange = onChange;
  }

  lived(fate: Fate, life: LifeReport): void {
    if (life.ended === "killed") this.kills += 1;
    else if (fate.kind === "killed") this.killsLeft += 1;
    if (life.recoveryMs !== undefined) this.recoveries.push(life.recoveryMs);
    this.secondRecoveries += life.recoveredAgain;
    this.#onChange();
  }

  finished(outcome: Outcome, events: number, acknowledged: number): void {
    this.runs += 1;
    this.cutCalls += outcome.cutCalls;
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
