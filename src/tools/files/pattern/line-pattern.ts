import type { RE2JS } from "re2js";
import { compilePattern } from "./glob-matcher.ts";
import { noCharacter } from "./pattern-reader.ts";
import {
  type Assertion,
  type TranslatedPattern,
  tooLarge,
  translatePattern,
} from "./translate-pattern.ts";

/** One argument of a program can hold 128 KB on Linux; a longer pattern is left to our own search. */
const longestForRipgrep = 100_000;
/** In bytes. Longer lines are searched in overlapping pieces. */
const longestPiece = 64 * 1024;
const shortestPiece = 4 * 1024;
/** Instructions times bytes of a piece: RE2 cannot be interrupted, so this bounds one test. */
const mostWork = 32_000_000;

/** A pattern, ready to be searched for in lines, in time linear in the line. */
export class LinePattern {
  /** Bytes without which no line matches; may be empty. */
  readonly literal: Buffer;
  /**
   * Whether a carriage return before a line break belongs to the line. It does only where the
   * pattern names it, so that `x$` finds the same in files of both kinds.
   */
  readonly keepsReturn: boolean;
  /** The longest part of a line, in bytes, that one test may get. */
  readonly pieceBytes: number;
  readonly #pattern: TranslatedPattern;
  readonly #whole: RE2JS;
  /** For the pieces of a long line, by the ends that are those of the line. */
  readonly #forPieces = new Map<string, RE2JS>();

  constructor(text: string, ignoreCase: boolean) {
    this.#pattern = translatePattern(text, { ignoreCase });
    const { literal, namesReturn, size } = this.#pattern;
    this.literal = Buffer.from(literal);
    this.keepsReturn = namesReturn;
    const affordable = Math.floor(mostWork / Math.max(size, 1));
    this.pieceBytes = Math.min(longestPiece, Math.max(shortestPiece, affordable));
    this.#whole = this.#compile(true, true);
  }

  /** Whether a line matches, or a piece of one that does not begin or end the line. */
  test(text: string | Uint8Array, isStart = true, isEnd = true): boolean {
    if (isStart && isEnd) return this.#whole.test(text);
    const ends = isStart ? "start" : isEnd ? "end" : "neither";
    let compiled = this.#forPieces.get(ends);
    if (compiled === undefined) {
      compiled = this.#compile(isStart, isEnd);
      this.#forPieces.set(ends, compiled);
    }
    return compiled.test(text);
  }

  /**
   * The pattern for ripgrep, which gets whole lines: it may find more than the pattern means and
   * never less, since every file it names is searched again. Null when it would be too long.
   */
  forRipgrep(): string | null {
    const text = this.#pattern.write((that, isFirst, isLast) => {
      // A byte order mark and a carriage return do not belong to a line, and ripgrep sees both. Word
      // edges differ between the engines.
      if (that === "^") return isFirst ? "^\\x{FEFF}?" : "";
      return that === "$" && isLast ? "\\r?$" : "";
    });
    return text.length <= longestForRipgrep ? text : null;
  }

  #compile(isStart: boolean, isEnd: boolean): RE2JS {
    const source = this.#pattern.write((that: Assertion) => {
      if (that === "^") return isStart ? that : noCharacter;
      return that === "$" && !isEnd ? noCharacter : that;
    });
    try {
      return compilePattern(source);
    } catch (error) {
      // The syntax is known to be right: what RE2 refuses is the size.
      throw tooLarge(error);
    }
  }
}
