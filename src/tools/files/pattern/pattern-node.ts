import type { CharacterSet } from "./character-set.ts";

/**
 * What a pattern means, whoever then looks for it. Regular in the strict sense: no backreferences
 * and no lookaround, so that the time a search takes grows with the text and with nothing else.
 */
export type PatternNode =
  | { readonly kind: "one"; readonly of: CharacterSet }
  | { readonly kind: "sequence"; readonly parts: readonly PatternNode[] }
  | { readonly kind: "choice"; readonly options: readonly PatternNode[] }
  | {
      readonly kind: "repeat";
      readonly part: PatternNode;
      readonly least: number;
      /** Null: as often as it occurs. */
      readonly most: number | null;
    }
  | { readonly kind: "assert"; readonly that: Assertion };

export type Assertion = "line-start" | "line-end" | "word-edge" | "no-word-edge";

/** A pattern that is not understood, or not offered. The message is for the model that wrote it. */
export class PatternRefused extends Error {
  constructor(message: string) {
    super(message);
    this.name = "PatternRefused";
  }
}

export const nothing: PatternNode = { kind: "sequence", parts: [] };
