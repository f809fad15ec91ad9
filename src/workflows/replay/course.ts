import type { NewEvent, StoredEvent } from "../../events/event.ts";

/**
 * How far a replay has come in what was recorded. What comes from outside (an answer, a result, a
 * cancel) is let in when everything that the log has before it has happened again, so that the
 * order in which the tree met it is the recorded one, whatever the timing. Events of different
 * delegations may change places in between: each delegation has its own order only.
 */
export class Course {
  /** Changes with every event: whoever waits for too long can see that nothing moves. */
  steps = 0;
  readonly #events: readonly StoredEvent[];
  readonly #own: ReadonlyMap<string, readonly StoredEvent[]>;
  /** Results that are let in later than recorded, just before what follows from them. */
  readonly #held: ReadonlyMap<number, number>;
  readonly #ordinal = new Map<number, number>();
  readonly #seen = new Map<string, number>();
  readonly #strayed = new Set<string>();
  #next = 0;
  #waiting: Waiting[] = [];
  #hasGivenUp = false;

  constructor(events: readonly StoredEvent[], held: ReadonlyMap<number, number>) {
    this.#events = events;
    this.#held = held;
    this.#own = Map.groupBy(events, keyOf);
    for (const own of this.#own.values()) {
      for (const [index, { seq }] of own.entries()) this.#ordinal.set(seq, index);
    }
  }

  /** The first recorded event that has not happened again; undefined: all have. */
  get next(): StoredEvent | undefined {
    return this.#events[this.#next];
  }

  see(events: readonly NewEvent[]): void {
    for (const event of events) {
      const key = keyOf(event);
      const count = this.#seen.get(key) ?? 0;
      // Who goes another way than recorded is not waited for any more.
      if (this.#own.get(key)?.[count]?.type !== event.type) this.#strayed.add(key);
      this.#seen.set(key, count + 1);
    }
    this.steps++;
    this.#advance();
  }

  /** How many events of a delegation have happened again. */
  seenOf(delegationId: string): number {
    return this.#seen.get(delegationId) ?? 0;
  }

  hasStrayed(delegationId: string): boolean {
    return this.#strayed.has(delegationId) || this.#hasGivenUp;
  }

  /** Acts as soon as everything before that event has happened again, and `isReady` besides. */
  at(seq: number, act: () => void, isReady: () => boolean = always): void {
    this.#waiting.push({ seq: this.#held.get(seq) ?? seq, act, isReady });
    this.#advance();
  }

  arrival(seq: number): Promise<void> {
    return new Promise((resolve) => this.at(seq, resolve));
  }

  /** Nothing moves any more: whatever waits for its turn is let in. */
  giveUp(): void {
    this.#hasGivenUp = true;
    this.#advance();
  }

  #advance(): void {
    while (this.next !== undefined && this.#isPast(this.next)) this.#next++;
    const position = this.#hasGivenUp
      ? Number.POSITIVE_INFINITY
      : (this.next?.seq ?? Number.POSITIVE_INFINITY);
    for (;;) {
      const index = this.#waiting.findIndex(
        (one) => one.seq <= position && (this.#hasGivenUp || one.isReady()),
      );
      const [due] = index < 0 ? [] : this.#waiting.splice(index, 1);
      if (due === undefined) return;
      // What it does may be seen at once, and let in more.
      due.act();
    }
  }

  #isPast(event: StoredEvent): boolean {
    const key = keyOf(event);
    if (this.#held.has(event.seq) || this.#strayed.has(key)) return true;
    return this.seenOf(key) > (this.#ordinal.get(event.seq) ?? 0);
  }
}

interface Waiting {
  readonly seq: number;
  readonly act: () => void;
  readonly isReady: () => boolean;
}

const always = (): boolean => true;

function keyOf({ sub_agent_id: id = "" }: NewEvent): string {
  return id;
}
