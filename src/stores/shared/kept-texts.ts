import { sha256 } from "../../events/hash-chain.ts";

export type KeptText = readonly [hash: string, body: string];

/** Prompts are some kilobytes each, and few are used again and again. */
const mostKnown = 300;

/**
 * The texts that this process was given to keep. One is written with the transaction that follows;
 * those that were used lately are known to be written, and not sent again.
 *
 * A pruning removes texts that nothing refers to, and an append may be about to: so a text is held
 * until the append that came after it was given has come to an end, and written again if a pruning
 * was heard of in between. Nothing else comes back.
 */
export class KeptTexts {
  readonly #known = new RecentValues<string>(mostKnown);
  readonly #unwritten = new Map<string, KeptText>();
  /** By hash, in the order of the appends that are waited for. */
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

  /** An append was made, which may refer to what was given before. */
  noteAppend(): void {
    this.#appends += 1;
  }

  /** So many more appends, in the order in which they were made, were written or refused. */
  noteEnds(count: number): void {
    this.#ended += count;
    for (const [hash, { append }] of this.#held) {
      if (append > this.#ended) return;
      this.#held.delete(hash);
    }
  }

  /** A write after a pruning knows of that pruning. */
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
      // Another one: a pruning was heard of since these were read.
      if (this.#unwritten.get(hash) === text) this.#unwritten.delete(hash);
    }
  }
}

const none: readonly KeptText[] = [];

/** The values that were asked for last, as many as may be kept. */
export class RecentValues<Value> {
  readonly #most: number;
  readonly #values = new Map<string, Value>();

  constructor(most: number) {
    this.#most = most;
  }

  get(key: string): Value | undefined {
    const value = this.#values.get(key);
    if (value === undefined) return undefined;
    // A map gives its keys in the order in which they came: the first is the one to go.
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
