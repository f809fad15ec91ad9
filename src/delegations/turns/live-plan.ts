import type { EventPayloads } from "../../events/event.ts";
import { orderOfMerges, stepOfKey } from "../../events/planned-steps.ts";
import { MergeOrder } from "../changes/merge-order.ts";
import type { LiveDelegation } from "../live-delegation.ts";

/** What one child of a plan works for: the index of its step, and which of its children it is. */
export interface PlannedChild {
  readonly index: number;
  /** "" for the first try, "-2" for the second, "-review" for its review. */
  readonly suffix: string;
}

/**
 * A plan that a call carries out: which index each child has, and which steps the merges of later
 * ones wait for. Both follow from the plan alone, so they are the same however long each step takes.
 */
export class LivePlan {
  readonly #agent: LiveDelegation;
  readonly #first: number;
  readonly #places: ReadonlyMap<string, number>;

  /** Undefined for a plan of an earlier version, whose children are counted as they are made. */
  static of(agent: LiveDelegation, plan: EventPayloads["run.planned"]): LivePlan | undefined {
    const { first_step: first } = plan;
    return first === undefined ? undefined : new LivePlan(agent, plan, first);
  }

  private constructor(agent: LiveDelegation, plan: EventPayloads["run.planned"], first: number) {
    const { steps } = plan;
    this.#agent = agent;
    this.#first = first;
    this.#places = new Map(steps.map(({ key }, place) => [key, place]));
    agent.process.merges ??= new MergeOrder();
    const sequence = orderOfMerges(plan).map((place) => first + place);
    agent.process.merges.expect(sequence, (index) => steps[index - first]?.done_by !== undefined);
    // Once its call is stopped no further step begins, and merges wait for none.
    agent.work.onStop(() => {
      for (const index of sequence) agent.process.merges?.settle(index);
    });
  }

  find(key: string): PlannedChild | undefined {
    const step = stepOfKey(this.#places, key);
    return step && { index: this.#first + step.place, suffix: step.suffix };
  }

  settle(key: string): void {
    const place = this.#places.get(key);
    if (place !== undefined) this.#agent.process.merges?.settle(this.#first + place);
  }
}
