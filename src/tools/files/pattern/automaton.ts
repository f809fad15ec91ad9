import { Alphabet } from "./alphabet.ts";
import type { CharacterSet } from "./character-set.ts";
import { compileProgram, type Instruction } from "./compile-program.ts";
import type { Assertion, PatternNode } from "./pattern-node.ts";
import { wordCharacters } from "./unicode-sets.ts";

/** What stood before the present place, as far as `^` and `\b` ask. */
type Before = "start" | "word" | "other";

/** Where in the pattern one can be after what was read: one bit for each instruction. */
export interface State {
  readonly places: Uint32Array;
  readonly before: Before;
}

/**
 * The pattern as a machine that reads one character at a time and is in all places at once. One
 * step costs at most one visit of each instruction, whatever was read before.
 */
export class Automaton {
  readonly alphabet: Alphabet;
  /** The kind of a byte that belongs to no character: no part of a pattern describes it. */
  readonly invalid: number;
  readonly lineEnd: number;
  readonly first: State;
  readonly #instructions: readonly Instruction[];
  readonly #start: number;
  /** For each instruction the number of its set in the alphabet. */
  readonly #setOf: readonly number[];
  readonly #wordSet: number;
  readonly #open: Int32Array;

  constructor(node: PatternNode) {
    const { instructions, start } = compileProgram(node);
    const sets: CharacterSet[] = [];
    const known = new Map<string, number>();
    const numberOf = (set: CharacterSet) => {
      const key = set.join();
      const number = known.get(key) ?? sets.push(set) - 1;
      known.set(key, number);
      return number;
    };
    this.#setOf = instructions.map((each) => (each.kind === "one" ? numberOf(each.of) : -1));
    this.#wordSet = instructions.some(asksForWords) ? numberOf(wordCharacters()) : -1;
    this.#instructions = instructions;
    this.#start = start;
    this.#open = new Int32Array(instructions.length * 2 + 2);
    this.alphabet = new Alphabet(sets);
    this.invalid = this.alphabet.size;
    this.lineEnd = this.alphabet.size + 1;
    this.first = { places: this.#nowhere(), before: "start" };
    setBit(this.first.places, start);
  }

  /** The state after one more character of a kind; null when a match is complete before it. */
  step(state: State, kind: number): State | null {
    const isWord = kind < this.alphabet.size && this.alphabet.holds(this.#wordSet, kind);
    const after = kind === this.lineEnd ? "end" : isWord ? "word" : "other";
    const places = this.#nowhere();
    // A match can begin anywhere, so the beginning is always among the places.
    setBit(places, this.#start);
    if (this.#advance(state, after, kind, places)) return null;
    return { places, before: after === "end" ? "other" : after };
  }

  /** Follows what needs no reading, then reads. Gives true when a match was on the way. */
  #advance(state: State, after: string, kind: number, places: Uint32Array): boolean {
    const open = this.#open;
    const seen = this.#nowhere();
    let count = 0;
    const visit = (place: number) => {
      if (hasBit(seen, place)) return;
      setBit(seen, place);
      open[count] = place;
      count += 1;
    };
    for (const [word, bits] of state.places.entries()) {
      for (let rest = bits; rest !== 0; rest &= rest - 1) {
        visit(word * 32 + 31 - Math.clz32(rest & -rest));
      }
    }
    for (let index = 0; index < count; index += 1) {
      const place = open[index] ?? 0;
      const instruction = this.#instructions[place];
      if (instruction === undefined || instruction.kind === "found") return true;
      if (instruction.kind === "either") {
        visit(instruction.next);
        visit(instruction.other);
      } else if (instruction.kind === "assert") {
        if (holds(instruction.that, state.before, after)) visit(instruction.next);
      } else if (kind < this.invalid && this.alphabet.holds(this.#setOf[place] ?? -1, kind)) {
        setBit(places, instruction.next);
      }
    }
    return false;
  }

  #nowhere(): Uint32Array {
    return new Uint32Array((this.#instructions.length + 31) >> 5);
  }
}

function setBit(bits: Uint32Array, index: number): void {
  bits[index >> 5] = (bits[index >> 5] ?? 0) | (1 << (index & 31));
}

function hasBit(bits: Uint32Array, index: number): boolean {
  return ((bits[index >> 5] ?? 0) & (1 << (index & 31))) !== 0;
}

function asksForWords(instruction: Instruction): boolean {
  return instruction.kind === "assert" && instruction.that.endsWith("word-edge");
}

function holds(that: Assertion, before: Before, after: string): boolean {
  if (that === "line-start") return before === "start";
  if (that === "line-end") return after === "end";
  const isEdge = (before === "word") !== (after === "word");
  return isEdge === (that === "word-edge");
}
