import { Automaton, type State } from "./automaton.ts";
import { decodeCharacter, lengthFrom, notACharacter } from "./decode-character.ts";
import type { PatternNode } from "./pattern-node.ts";

const unknown = -1;
const found = -2;
const mostStates = 2000;

/**
 * Says whether a line contains what a pattern describes, in time linear in the line: the states of
 * the automaton are worked out when they are first met, and kept in a table. No pattern and no text
 * makes it go back, so it needs no deadline of its own, and its answer does not depend on how fast
 * the machine is.
 */
export class Matcher {
  readonly #automaton: Automaton;
  readonly #width: number;
  #table: Int32Array;
  #states: State[] = [];
  #numbers = new Map<number, number[]>();
  /** Where the part of the line that was looked at has led to. */
  #state = 0;

  constructor(node: PatternNode) {
    this.#automaton = new Automaton(node);
    this.#width = this.#automaton.lineEnd + 1;
    this.#table = new Int32Array(this.#width * 16);
    this.#addState(this.#automaton.first);
  }

  /** At the beginning of a line. */
  begin(): void {
    this.#state = 0;
  }

  /**
   * Looks at the next piece of a line, without its line break and not ending inside a character.
   * Gives the place where a match was complete, or -1.
   */
  scan(bytes: Uint8Array, from: number, end: number): number {
    const { alphabet, invalid } = this.#automaton;
    const { ascii } = alphabet;
    const width = this.#width;
    let state = this.#state;
    for (let at = from; at < end; ) {
      const byte = bytes[at] ?? 0;
      let kind = invalid;
      let length = 1;
      if (byte < 0x80) kind = ascii[byte] ?? 0;
      else {
        const codePoint = decodeCharacter(bytes, at, end);
        if (codePoint !== notACharacter) {
          kind = alphabet.kindOf(codePoint);
          length = lengthFrom(byte);
        }
      }
      let next = this.#table[state * width + kind] ?? unknown;
      if (next === unknown) next = this.#workOut(state, kind);
      if (next === found) return at;
      state = next;
      at += length;
    }
    this.#state = state;
    return -1;
  }

  /** Whether the line matches if it ends here. */
  end(): boolean {
    const { lineEnd } = this.#automaton;
    const known = this.#table[this.#state * this.#width + lineEnd] ?? unknown;
    return (known === unknown ? this.#workOut(this.#state, lineEnd) : known) === found;
  }

  /** For a text that is held anyway, as one line. */
  test(text: string): boolean {
    const { alphabet } = this.#automaton;
    const { ascii } = alphabet;
    const width = this.#width;
    let state = 0;
    for (let at = 0; at < text.length; at += 1) {
      let codePoint = text.charCodeAt(at);
      if (codePoint > 0xd7ff) {
        codePoint = text.codePointAt(at) ?? 0;
        if (codePoint > 0xffff) at += 1;
        // Half of a pair is what it becomes in a file.
        else if (codePoint <= 0xdfff) codePoint = 0xfffd;
      }
      const kind = codePoint < 0x80 ? (ascii[codePoint] ?? 0) : alphabet.kindOf(codePoint);
      let next = this.#table[state * width + kind] ?? unknown;
      if (next === unknown) next = this.#workOut(state, kind);
      if (next === found) return true;
      state = next;
    }
    this.#state = state;
    return this.end();
  }

  #workOut(from: number, kind: number): number {
    const state = this.#states[from] ?? this.#automaton.first;
    const next = this.#automaton.step(state, kind);
    if (next === null) {
      this.#table[from * this.#width + kind] = found;
      return found;
    }
    const known = this.#find(next);
    if (known === undefined && this.#states.length >= mostStates) {
      // Memory stays bounded. The table knows nothing any more, not even about `from`.
      this.#states = [];
      this.#numbers.clear();
      this.#addState(this.#automaton.first);
      return this.#find(next) ?? this.#addState(next);
    }
    const number = known ?? this.#addState(next);
    this.#table[from * this.#width + kind] = number;
    return number;
  }

  #find(state: State): number | undefined {
    return this.#numbers.get(hashOf(state))?.find((number) => {
      const other = this.#states[number];
      return other !== undefined && isSame(state, other);
    });
  }

  #addState(state: State): number {
    const number = this.#states.push(state) - 1;
    const hash = hashOf(state);
    const bucket = this.#numbers.get(hash);
    if (bucket === undefined) this.#numbers.set(hash, [number]);
    else bucket.push(number);
    const start = number * this.#width;
    if (start + this.#width > this.#table.length) {
      const larger = new Int32Array(this.#table.length * 2);
      larger.set(this.#table);
      this.#table = larger;
    }
    this.#table.fill(unknown, start, start + this.#width);
    return number;
  }
}

function hashOf({ places, before }: State): number {
  let hash = before.length;
  for (const bits of places) hash = (Math.imul(hash, 0x01000193) ^ bits) | 0;
  return hash;
}

function isSame(left: State, right: State): boolean {
  return (
    left.before === right.before && left.places.every((bits, word) => bits === right.places[word])
  );
}
