import { Scheduler } from "../../delegations/scheduler.ts";

/** Who got a slot when is recorded: in a replay nobody waits for one, unless all have to. */
export class ReplayScheduler extends Scheduler {
  #held: (() => void)[] | null = null;

  constructor() {
    super(Number.POSITIVE_INFINITY);
  }

  override enter(start: () => void): void {
    if (this.#held) this.#held.push(start);
    else super.enter(start);
  }

  /** Those who were held before are forgotten: their worker has died. */
  hold(): void {
    this.#held = [];
  }

  release(): void {
    const held = this.#held ?? [];
    this.#held = null;
    for (const start of held) super.enter(start);
  }
}
