/**
 * In which order the work of one caller's children is taken over: by step, whoever finished first.
 * A child is taken over when it is called for (by the call that made it, by whoever asks for its
 * result, or because its caller ends), and not before the earlier ones that were called for as well.
 */
export class MergeOrder {
  readonly #places = new Map<number, Place>();
  /** Those whose turn has not come. Most have nothing to merge, and a thousand leave at once. */
  readonly #waiting = new Map<number, () => void>();

  get hasAny(): boolean {
    return this.#places.size > 0;
  }

  /** A child is about to be made. `isCalledFor`: the call that makes it waits for it. */
  announce(step: number, isCalledFor: boolean): void {
    this.#places.set(step, { isCalledFor });
  }

  callFor(step: number): void {
    const place = this.#places.get(step);
    if (place === undefined || place.isCalledFor) return;
    place.isCalledFor = true;
    this.#letGo();
  }

  /** Nothing more is to come of it: it was refused, has nothing to merge, or has ended. */
  leave(step: number): void {
    this.#waiting.delete(step);
    if (this.#places.delete(step)) this.#letGo();
  }

  /** Undefined when it is its turn now. */
  turn(step: number): Promise<void> | undefined {
    const place = this.#places.get(step);
    if (place === undefined || this.#isNext(step, place)) return undefined;
    return new Promise((resolve) => {
      this.#waiting.set(step, resolve);
    });
  }

  /** One of these stands before it, and has to be taken over first. */
  isBehind(step: number, others: ReadonlySet<number>): boolean {
    for (const [other, { isCalledFor }] of this.#places) {
      if (other < step && isCalledFor && others.has(other)) return true;
    }
    return false;
  }

  #isNext(step: number, place: Place): boolean {
    if (!place.isCalledFor) return false;
    for (const [other, { isCalledFor }] of this.#places) {
      if (other < step && isCalledFor) return false;
    }
    return true;
  }

  #letGo(): void {
    for (const [step, go] of this.#waiting) {
      const place = this.#places.get(step);
      if (place === undefined || !this.#isNext(step, place)) continue;
      this.#waiting.delete(step);
      go();
    }
  }
}

interface Place {
  isCalledFor: boolean;
}
