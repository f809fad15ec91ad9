import { PlaceQueue } from "../../events/place-queue.ts";

/**
 * In which order the work of one caller's children is taken over: by step, whoever finished first.
 * A child is taken over when it is called for (by the call that made it, by whoever asks for its
 * result, or because its caller ends), and not before the earlier ones that were called for as well.
 * A plan expects its steps before they have children: the later ones wait for those too.
 */
export class MergeOrder {
  readonly #places = new Map<number, Place>();
  /** Steps of plans that may still get a child. */
  readonly #expected = new Set<number>();
  /** Where a step of a plan is merged, if that is not its own place: after what it depends on. */
  readonly #ranks = new Map<number, number>();
  /** The step that is merged at a rank, if that is not the step of that number. */
  readonly #steps = new Map<number, number>();
  /** Ranks that others wait for; some may be over by now. */
  readonly #pending = new PlaceQueue();
  /** Those whose turn has not come. Most have nothing to merge, and a thousand leave at once. */
  readonly #waiting = new Map<number, () => void>();

  get hasAny(): boolean {
    return this.#places.size > 0;
  }

  /** Steps of a plan, from the one that is merged first. Their numbers follow each other. */
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

  /** This step of a plan gets no further child. */
  settle(step: number): void {
    if (this.#expected.delete(step)) this.#letGo();
  }

  /** A child is about to be made. `isCalledFor`: the call that makes it waits for it. */
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

  /** Nothing more is to come of it: it was refused, has nothing to merge, or has ended. */
  leave(step: number): void {
    this.#waiting.delete(step);
    if (this.#places.delete(step)) this.#letGo();
  }

  /** Undefined when it is its turn now. `_id`: the child whose work it is. */
  turn(step: number, _id: string): Promise<void> | undefined {
    const place = this.#places.get(step);
    if (place === undefined || (place.isCalledFor && this.#next === step)) return undefined;
    return new Promise((resolve) => {
      this.#waiting.set(step, resolve);
    });
  }

  /** One of these stands before it, and has to be taken over first. */
  isBehind(step: number, others: ReadonlySet<number>): boolean {
    const rank = this.#rankOf(step);
    for (const other of others) {
      if (this.#rankOf(other) < rank && this.#places.get(other)?.isCalledFor) return true;
    }
    return false;
  }

  /** The step that all others wait for. */
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
