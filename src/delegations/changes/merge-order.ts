import { PlaceQueue } from "../../events/planned-steps.ts";

/**
 * The order in which the work of one caller's children is merged: by step, not by completion.
 * A child is merged when it is called for (by the call that made it, by a request for its result, or
 * because its caller closes), after all earlier children that were called for.
 * A plan's steps are expected before they have children: later children wait for these steps too.
 */
export class MergeOrder {
  readonly #places = new Map<number, Place>();
  /** Steps of a plan that may still get a child. */
  readonly #expected = new Set<number>();
  /** The rank of a step where the two differ: a step is merged after the steps it depends on. */
  readonly #ranks = new Map<number, number>();
  /** The step of a rank where the two differ. */
  readonly #steps = new Map<number, number>();
  /** Ranks that others wait for, and ranks that are merged already. */
  readonly #pending = new PlaceQueue();
  /** Steps that wait for their turn. */
  readonly #waiting = new Map<number, () => void>();

  get hasAny(): boolean {
    return this.#places.size > 0;
  }

  /** The steps of a plan in the order of their merges. Their numbers are consecutive. */
  expect(sequence: readonly number[], isOver: (step: number) => boolean): void {
    const first = Math.min(...sequence);
    for (const [index, step] of sequence.entries()) {
      const rank = first + index;
      if (rank !== step) {
        this.#ranks.set(step, rank);
        this.#steps.set(rank, step);
      }
      if (isOver(step)) continue;
      this.#expected.add(step);
      this.#pending.add(rank);
    }
  }

  /** Marks a step of a plan that gets no further child. */
  settle(step: number): void {
    if (this.#expected.delete(step)) this.#letGo();
  }

  /** A child is about to be created. `isCalledFor`: the call that creates it waits for it. */
  announce(step: number, isCalledFor: boolean): void {
    this.#places.set(step, { isCalledFor });
    if (isCalledFor) this.#pending.add(this.#rankOf(step));
  }

  callFor(step: number): void {
    const place = this.#places.get(step);
    if (place === undefined || place.isCalledFor) return;
    place.isCalledFor = true;
    this.#pending.add(this.#rankOf(step));
    this.#letGo();
  }

  /** The child of this step was refused, has nothing to merge, or is closed. */
  leave(step: number): void {
    this.#waiting.delete(step);
    if (this.#places.delete(step)) this.#letGo();
  }

  /** Undefined when the step can be merged now. `_id` is the child's; a replay orders by it. */
  turn(step: number, _id: string): Promise<void> | undefined {
    const place = this.#places.get(step);
    if (place === undefined || (place.isCalledFor && this.#next === step)) return undefined;
    return new Promise((resolve) => {
      this.#waiting.set(step, resolve);
    });
  }

  /** Whether one of these steps was called for and is merged before this step. */
  isBehind(step: number, others: ReadonlySet<number>): boolean {
    const rank = this.#rankOf(step);
    for (const other of others) {
      if (this.#rankOf(other) < rank && this.#places.get(other)?.isCalledFor) return true;
    }
    return false;
  }

  /** The step that is merged next. */
  get #next(): number | undefined {
    for (;;) {
      const rank = this.#pending.lowest;
      if (rank === undefined) return undefined;
      const step = this.#steps.get(rank) ?? rank;
      if (this.#expected.has(step) || this.#places.get(step)?.isCalledFor) return step;
      this.#pending.take();
    }
  }

  #letGo(): void {
    if (this.#waiting.size === 0) return;
    const step = this.#next;
    const go = step === undefined ? undefined : this.#waiting.get(step);
    if (step === undefined || go === undefined || !this.#places.get(step)?.isCalledFor) return;
    this.#waiting.delete(step);
    go();
  }

  #rankOf(step: number): number {
    return this.#ranks.get(step) ?? step;
  }
}

interface Place {
  isCalledFor: boolean;
}
