import type { CharacterSet } from "./character-set.ts";
import { type Assertion, type PatternNode, PatternRefused } from "./pattern-node.ts";

/** One step of a pattern. `next` and `other` are positions in the program. */
export type Instruction =
  | { readonly kind: "one"; readonly of: CharacterSet; readonly next: number }
  | { readonly kind: "either"; readonly next: number; readonly other: number }
  | { readonly kind: "assert"; readonly that: Assertion; readonly next: number }
  | { readonly kind: "found" };

export interface Program {
  readonly instructions: readonly Instruction[];
  readonly start: number;
}

/** Each character of a text can cost one visit of each instruction: this bounds the worst case. */
const largest = 4000;

/** Built from the end, so that every instruction knows what comes after it. */
export function compileProgram(node: PatternNode): Program {
  const instructions: Instruction[] = [{ kind: "found" }];

  function add(instruction: Instruction): number {
    if (instructions.length >= largest) {
      throw new PatternRefused(
        "The pattern is too large once its repetitions are written out. Use smaller counts.",
      );
    }
    return instructions.push(instruction) - 1;
  }

  function compile(part: PatternNode, next: number): number {
    switch (part.kind) {
      case "one":
        return add({ kind: "one", of: part.of, next });
      case "assert":
        return add({ kind: "assert", that: part.that, next });
      case "sequence":
        return part.parts.reduceRight((after, each) => compile(each, after), next);
      case "choice":
        return part.options
          .map((option) => compile(option, next))
          .reduceRight((other, first) => add({ kind: "either", next: first, other }));
      case "repeat":
        return compileRepeat(part, next);
      default:
        return part satisfies never;
    }
  }

  function compileRepeat(
    { part, least, most }: Extract<PatternNode, { kind: "repeat" }>,
    next: number,
  ): number {
    let entry = next;
    if (most === null) {
      const loop = add({ kind: "either", next, other: next });
      instructions[loop] = { kind: "either", next: compile(part, loop), other: next };
      entry = loop;
    } else {
      for (let count = least; count < most; count += 1) {
        entry = add({ kind: "either", next: compile(part, entry), other: next });
      }
    }
    for (let count = 0; count < least; count += 1) entry = compile(part, entry);
    return entry;
  }

  const start = compile(node, 0);
  return { instructions, start };
}
