import type { StoredEvent } from "../../events/event.ts";
import { sha256 } from "../../events/hash-chain.ts";
import { controlRunId } from "../../ports/identity.ts";
import type { Append } from "../../ports/store.ts";
import type { RecordChanges } from "./transaction.ts";

export interface Pending {
  readonly append: Append;
  /** Set when the events are decided at the time of writing, from the stored records. */
  readonly records: RecordChanges | undefined;
  /** Set when a run is taken over: the worker that must be dead at the time of writing. */
  readonly claimedFrom: string | undefined;
  readonly resolve: (events: readonly StoredEvent[]) => void;
  readonly reject: (error: unknown) => void;
}

/** About how many events one transaction takes, so that it blocks the event loop only briefly. */
const eventsPerTransaction = 1500;

/** Appends in the order of the calls, waiting for the transaction that they will share. */
export class AppendQueue {
  #pending: Pending[] = [];

  get isEmpty(): boolean {
    return this.#pending.length === 0;
  }

  add(
    append: Append,
    records: RecordChanges | undefined,
    claimedFrom?: string,
  ): Promise<readonly StoredEvent[]> {
    const done = new Promise<readonly StoredEvent[]>((resolve, reject) => {
      this.#pending.push({ append, records, claimedFrom, resolve, reject });
    });
    // A caller may look at the result later; until then a refusal must not be an unhandled
    // rejection.
    done.catch(ignore);
    return done;
  }

  /** Takes as many appends as one transaction should hold. */
  take(): Pending[] {
    let events = 0;
    let count = 0;
    while (count < this.#pending.length && events < eventsPerTransaction) {
      const next = this.#pending[count];
      events += next?.records?.changes.length ?? next?.append.events.length ?? 0;
      count++;
    }
    if (count === this.#pending.length) {
      const all = this.#pending;
      this.#pending = [];
      return all;
    }
    return this.#pending.splice(0, count);
  }
}

/**
 * Record changes are appended to the control log; their events are decided at the time of writing.
 */
export const appendToControlLog: Append = { runId: controlRunId, by: "operator", events: [] };

/** Gives each caller the result of its append. */
export function settle(
  pending: readonly Pending[],
  outcomes: readonly (readonly StoredEvent[] | Error)[],
): void {
  for (const [index, one] of pending.entries()) {
    const outcome = outcomes[index];
    if (outcome instanceof Error) one.reject(outcome);
    else one.resolve(outcome ?? []);
  }
}

function ignore(): void {}

export type KeptText = readonly [hash: string, body: string];

/** Prompts have some kilobytes each, and few are used repeatedly. */
const mostKnown = 300;

/**
 * The texts that callers asked to keep. A text is written with the next transaction. Texts that
 * were used recently are known to be stored and are not written again.
 *
 * Pruning removes texts that nothing references, and a pending append may be about to reference
 * one. So a text is retained until the append that followed `keep` has finished, and is written
 * again if a pruning happened in between.
 */
export class KeptTexts {
  readonly #known = new RecentValues<string>(mostKnown);
  readonly #unwritten = new Map<string, KeptText>();
  /** Bodies by hash, in the order of the pending appends. */
  readonly #held = new Map<string, { readonly body: string; readonly append: number }>();
  #appends = 0;
  #ended = 0;

  keep(body: string): string {
    const known = this.#known.get(body);
    const hash = known ?? sha256(body);
    if (known === undefined) {
      this.#known.set(body, hash);
      this.#unwritten.set(hash, [hash, body]);
    }
    this.#held.delete(hash);
    this.#held.set(hash, { body, append: this.#appends + 1 });
    return hash;
  }

  /** Called for each append, which may reference any text kept before it. */
  noteAppend(): void {
    this.#appends += 1;
  }

  /** Called when that many more appends, in call order, were written or refused. */
  noteEnds(count: number): void {
    this.#ended += count;
    for (const [hash, { append }] of this.#held) {
      if (append > this.#ended) return;
      this.#held.delete(hash);
    }
  }

  /** Called after a pruning: retained texts are written again. */
  notePruning(): void {
    this.#known.clear();
    for (const [hash, { body }] of this.#held) this.#unwritten.set(hash, [hash, body]);
  }

  get unwritten(): readonly KeptText[] {
    return this.#unwritten.size === 0 ? none : [...this.#unwritten.values()];
  }

  noteWritten(texts: readonly KeptText[]): void {
    for (const text of texts) {
      const [hash] = text;
      // A pruning may have replaced the entry after the caller read it.
      if (this.#unwritten.get(hash) === text) this.#unwritten.delete(hash);
    }
  }
}

const none: readonly KeptText[] = [];

/** The values that were used most recently, up to a maximum number. */
export class RecentValues<Value> {
  readonly #most: number;
  readonly #values = new Map<string, Value>();

  constructor(most: number) {
    this.#most = most;
  }

  get(key: string): Value | undefined {
    const value = this.#values.get(key);
    if (value === undefined) return undefined;
    // A map is ordered by insertion: the first entry is the least recently used one.
    this.#values.delete(key);
    this.#values.set(key, value);
    return value;
  }

  set(key: string, value: Value): void {
    this.#values.set(key, value);
    if (this.#values.size <= this.#most) return;
    const [oldest] = this.#values.keys();
    if (oldest !== undefined) this.#values.delete(oldest);
  }

  clear(): void {
    this.#values.clear();
  }
}
