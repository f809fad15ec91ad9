import type { EventPayloads } from "./event.ts";

type Planned = EventPayloads["run.planned"];

/** The most tries of a step. Each try is a child of its own. */
export const mostTries = 4;

/** The key of the child for the n-th try of a step: `form`, `form-2`, `form-3`. */
export function keyOfTry(key: string, number: number): string {
  return number === 1 ? key : `${key}-${number}`;
}

/** The last plan of each orchestrator. */
export function standingPlans(plans: Iterable<Planned>): readonly Planned[] {
  const last = new Map<string, Planned>();
  for (const plan of plans) last.set(plan.by, plan);
  return [...last.values()];
}

/** The keys of the incomplete steps. `isCompleted` tells whether the child of a call id completed. */
export function openSteps(plan: Planned, isCompleted: (callId: string) => boolean): string[] {
  const isDone = (key: string): boolean => {
    for (let number = 1; number <= mostTries; number++) {
      if (isCompleted(`${plan.call_id}/${keyOfTry(key, number)}`)) return true;
    }
    return false;
  };
  return plan.steps
    .filter(({ done_by: earlier, key }) => earlier === undefined && !isDone(key))
    .map(({ key }) => key);
}

/** The indices of its steps in the order of their merges. */
export function orderOfMerges({ merge_order: order, steps }: Planned): readonly number[] {
  return order ?? [...steps.keys()];
}

/** The step of a child of a plan. */
export interface StepOfKey {
  /** The index of the step in the plan. */
  readonly place: number;
  /** The child's role: "" for the first try, "-2", "-review", "-2-review". */
  readonly suffix: string;
}

/** Finds the step by the key of one of its children. `places` has the index of each step's key. */
export function stepOfKey(places: ReadonlyMap<string, number>, key: string): StepOfKey | undefined {
  const place = places.get(key);
  if (place !== undefined) return { place, suffix: "" };
  const suffix = /(?:-review|-\d+)$/.exec(key)?.[0];
  if (suffix === undefined) return undefined;
  const step = stepOfKey(places, key.slice(0, -suffix.length));
  return step && { place: step.place, suffix: `${step.suffix}${suffix}` };
}

/** Indices of steps, lowest first. A binary heap, because ten thousand may become ready at once. */
export class PlaceQueue {
  readonly #heap: number[] = [];

  get lowest(): number | undefined {
    return this.#heap[0];
  }

  add(place: number): void {
    const heap = this.#heap;
    let at = heap.push(place) - 1;
    while (at > 0) {
      const above = (at - 1) >> 1;
      if (this.#at(above) <= place) break;
      heap[at] = this.#at(above);
      at = above;
    }
    heap[at] = place;
  }

  take(): number | undefined {
    const heap = this.#heap;
    const lowest = heap[0];
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return lowest;
    let at = 0;
    for (;;) {
      const left = 2 * at + 1;
      if (left >= heap.length) break;
      const below = this.#at(left + 1) < this.#at(left) ? left + 1 : left;
      if (this.#at(below) >= last) break;
      heap[at] = this.#at(below);
      at = below;
    }
    heap[at] = last;
    return lowest;
  }

  #at(index: number): number {
    return this.#heap[index] ?? Number.POSITIVE_INFINITY;
  }
}
