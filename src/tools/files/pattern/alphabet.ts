import type { CharacterSet } from "./character-set.ts";
import { hasCodePoint } from "./character-set.ts";

/**
 * Sorts all characters into the few kinds that a pattern can tell apart. The table of the matcher
 * then has a column for each kind and not for each character.
 */
export class Alphabet {
  /** How many kinds there are, from 0. */
  readonly size: number;
  /** The kind of each ASCII character, for the loop that sees little else. */
  readonly ascii: Uint16Array;
  /** For each set, whether it holds a kind. */
  readonly #members: readonly (readonly boolean[])[];
  readonly #starts: readonly number[];
  readonly #kinds: readonly number[];

  constructor(sets: readonly CharacterSet[]) {
    const starts = new Set([0]);
    for (const set of sets) {
      for (const [index, bound] of set.entries()) starts.add(index % 2 === 0 ? bound : bound + 1);
    }
    this.#starts = [...starts].sort((left, right) => left - right);
    const kindBySignature = new Map<string, number>();
    const members: boolean[][] = [];
    this.#kinds = this.#starts.map((start) => {
      const signature = sets.map((set) => hasCodePoint(set, start));
      const key = signature.map(Number).join("");
      let kind = kindBySignature.get(key);
      if (kind === undefined) {
        kind = members.push(signature) - 1;
        kindBySignature.set(key, kind);
      }
      return kind;
    });
    this.#members = members;
    this.size = members.length;
    this.ascii = Uint16Array.from({ length: 128 }, (_, codePoint) => this.kindOf(codePoint));
  }

  kindOf(codePoint: number): number {
    let low = 0;
    let high = this.#starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (codePoint >= (this.#starts[middle] ?? 0)) low = middle;
      else high = middle - 1;
    }
    return this.#kinds[low] ?? 0;
  }

  /** Whether the set with this number holds the characters of a kind. */
  holds(set: number, kind: number): boolean {
    return this.#members[kind]?.[set] === true;
  }
}
