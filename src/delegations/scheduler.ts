/**
 * Gives out slots, first come first served. An agent that only waits (for children, for a person)
 * hands its slot back and queues again at the front when it can go on, so a tree of any shape
 * cannot lock itself up.
 */
export class Scheduler {
  readonly #limit: number;
  #running = 0;
  #isGiving = false;
  readonly #queue = new Queue<() => void>();
  readonly #returning = new Queue<() => void>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  get running(): number {
    return this.#running;
  }

  get queued(): number {
    return this.#queue.length + this.#returning.length;
  }

  /** Calls `start` now if there is a slot, later otherwise. */
  enter(start: () => void): void {
    if (this.#running < this.#limit && this.#returning.length === 0 && this.#queue.length === 0) {
      this.#running++;
      start();
    } else {
      this.#queue.push(start);
    }
  }

  leave(): void {
    this.#running--;
    this.#next();
  }

  /** For one that waited without a slot; undefined when it has one again at once. */
  comeBack(): Promise<void> | undefined {
    if (this.#running < this.#limit) {
      this.#running++;
      return undefined;
    }
    return new Promise((resolve) => this.#returning.push(resolve));
  }

  #next(): void {
    // Whoever ended before it began leaves from inside this loop; ten thousand must not nest.
    if (this.#isGiving) return;
    this.#isGiving = true;
    while (this.#running < this.#limit) {
      const start = this.#returning.shift() ?? this.#queue.shift();
      if (start === undefined) break;
      this.#running++;
      start();
    }
    this.#isGiving = false;
  }
}

/** Array.shift moves every element; a queue of ten thousand should not. */
class Queue<Item> {
  #items: Item[] = [];
  #head = 0;

  get length(): number {
    return this.#items.length - this.#head;
  }

  push(item: Item): void {
    this.#items.push(item);
  }

  shift(): Item | undefined {
    const item = this.#items[this.#head];
    if (item === undefined) return undefined;
    this.#head++;
    if (this.#head > 1024 && this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
    return item;
  }
}
