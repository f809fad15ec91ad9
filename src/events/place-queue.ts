/** Places of steps, the lowest first: a binary heap, since ten thousand may become ready at once. */
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
