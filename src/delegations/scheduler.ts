/**
 * Gives out slots, first come first served. A delegation that only waits (for children, a person, a
 * budget or a retry) hands its slot back and queues again at the front when it can continue, so a tree
 * of any shape cannot lock itself up. A lane is a share of the slots with a limit of its own.
 */
export class Scheduler {
  /** Called when a slot is free and nothing here waits for it. */
  onFree: () => void = () => undefined;
  readonly limit: number;
  readonly #mostIn: (lane: string) => number;
  readonly #lanes = new Map<string, Lane>();
  #running = 0;
  #isGiving = false;

  constructor(limit: number, mostIn: (lane: string) => number = () => Number.POSITIVE_INFINITY) {
    this.limit = limit;
    this.#mostIn = mostIn;
  }

  get running(): number {
    return this.#running;
  }

  get queued(): number {
    return this.#lanes.values().reduce((sum, lane) => sum + lane.queued, 0);
  }

  /** How many that begin now would have a slot at once. */
  free(name = ""): number {
    const { queued, running } = this.#lane(name);
    const inLane = this.#mostIn(name) - running - queued;
    return Math.max(0, Math.min(this.limit - this.#running - this.queued, inLane));
  }

  /** Calls `start` now if there is a slot, later otherwise. */
  enter(start: () => void, name = ""): void {
    const lane = this.#lane(name);
    lane.waiting.push(start);
    this.#give();
  }

  leave(name = ""): void {
    this.#running--;
    this.#lane(name).running--;
    this.#give();
    if (this.#running < this.limit) this.onFree();
  }

  /** For one that waited without a slot; undefined when it has one again at once. */
  comeBack(name = ""): Promise<void> | undefined {
    const lane = this.#lane(name);
    if (this.#hasRoom(name, lane)) {
      this.#take(lane);
      return undefined;
    }
    return new Promise((resolve) => lane.returning.push(resolve));
  }

  #lane(name: string): Lane {
    let lane = this.#lanes.get(name);
    if (lane === undefined) {
      lane = new Lane();
      this.#lanes.set(name, lane);
    }
    return lane;
  }

  #hasRoom(name: string, lane: Lane): boolean {
    return this.#running < this.limit && lane.running < this.#mostIn(name);
  }

  #take(lane: Lane): void {
    this.#running++;
    lane.running++;
  }

  #give(): void {
    // A delegation that closed before it began leaves inside this loop; ten thousand must not nest.
    if (this.#isGiving) return;
    this.#isGiving = true;
    while (this.#giveOne("returning") || this.#giveOne("waiting"));
    this.#isGiving = false;
  }

  #giveOne(kind: "returning" | "waiting"): boolean {
    for (const [name, lane] of this.#lanes) {
      if (lane[kind].length === 0 || !this.#hasRoom(name, lane)) continue;
      const start = lane[kind].shift();
      // The lane that was served is the last to be served again.
      this.#lanes.delete(name);
      this.#lanes.set(name, lane);
      this.#take(lane);
      start?.();
      return true;
    }
    return false;
  }
}

class Lane {
  running = 0;
  readonly waiting = new Queue<() => void>();
  readonly returning = new Queue<() => void>();

  get queued(): number {
    return this.waiting.length + this.returning.length;
  }
}

/** Array.shift moves every element; a queue of ten thousand should not. */
class Queue<Item> {
  #items: (Item | undefined)[] = [];
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
    // A served item holds a whole run, and must not stay in memory until the array is cut.
    this.#items[this.#head++] = undefined;
    if (this.#head === this.#items.length) {
      this.#items = [];
      this.#head = 0;
    } else if (this.#head > 1024 && this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
    return item;
  }
}
