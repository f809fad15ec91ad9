import {
  anyCharacter,
  bracket,
  escapeCharacter,
  notWord,
  PatternReader,
  PatternRefused,
  readClass,
  readEscape,
  refuseLineBreak,
} from "./pattern-reader.ts";

export type Assertion = "^" | "$" | "\\b" | "\\B";

/** How one engine writes an assertion; `isFirst` and `isLast` tell whether the pattern begins or ends with it. */
export type WriteAssertion = (that: Assertion, isFirst: boolean, isLast: boolean) => string;

export interface TranslatedPattern {
  /** The pattern in the syntax that RE2 and Rust share. */
  write(assertion: WriteAssertion): string;
  /** A text that every match contains; may be empty. */
  readonly literal: string;
  /** The pattern names the carriage return. */
  readonly namesReturn: boolean;
  /** Instructions of the compiled pattern, roughly. */
  readonly size: number;
}

interface Part {
  text: string;
  readonly assertion?: Assertion;
  /** The literal character of this part, when it is one. */
  readonly character?: string;
  readonly isFlag?: boolean;
}

interface Group {
  /** Instructions of the group so far, and of its last part. */
  size: number;
  lastSize: number;
}

const deepest = 100;
const mostRepetitions = 1000;
/** Each character of a text can cost one visit of each instruction: this bounds the worst case. */
const mostInstructions = 4000;
/** A longer literal finds nothing sooner, and a search for it can be made slow on purpose. */
const longestLiteral = 32;

export function tooLarge(cause?: unknown): PatternRefused {
  return new PatternRefused(
    "The pattern is too large once its repetitions are written out. Use smaller counts.",
    { cause },
  );
}

/**
 * Translates a regular expression of a model for RE2 and ripgrep. The language is the common part of
 * ripgrep and JavaScript, read leniently (`interface{}` is not a repetition). Everything else is
 * refused here, before any engine sees it, so that a pattern means the same on every machine.
 */
export function translatePattern(
  text: string,
  { ignoreCase }: { readonly ignoreCase: boolean },
): TranslatedPattern {
  return new Translator(text, ignoreCase).translate();
}

class Translator {
  readonly #reader: PatternReader;
  readonly #parts: Part[] = [];
  readonly #groups: Group[] = [{ size: 0, lastSize: 0 }];
  #mayRepeat: "yes" | "nothing" | "assertion" | "repeated" = "nothing";
  #foldsCase: boolean;
  #hasChoice = false;
  #namesReturn = false;
  #literal = "";
  #run = "";

  constructor(text: string, ignoreCase: boolean) {
    this.#reader = new PatternReader(text);
    this.#foldsCase = ignoreCase;
    if (ignoreCase) this.#parts.push({ text: "(?i)", isFlag: true });
  }

  translate(): TranslatedPattern {
    while (!this.#reader.isAtEnd) this.#step();
    if (this.#groups.length > 1) {
      throw this.#reader.refuse("a ( has no ). Write \\( for the parenthesis itself");
    }
    this.#endRun();
    const parts = this.#parts;
    const write = (assertion: WriteAssertion): string =>
      parts.map((_, index) => this.#write(index, assertion)).join("");
    for (const index of parts.keys()) this.#checkEdge(index);
    return {
      write,
      // A literal is searched for by its bytes, which case folding changes.
      literal: this.#hasChoice || this.#foldsCase ? "" : this.#literal,
      namesReturn: this.#namesReturn,
      size: this.#group.size,
    };
  }

  get #group(): Group {
    return this.#groups.at(-1) ?? { size: 0, lastSize: 0 };
  }

  #step(): void {
    const reader = this.#reader;
    const flags = reader.takeMatching(/\(\?(-?[ims]+)\)/y);
    if (flags !== null) {
      this.#mayRepeat = "nothing";
      this.#push({ text: this.#flags(flags[1] ?? "", ")"), isFlag: true });
      return;
    }
    const braces =
      this.#mayRepeat === "nothing" ? null : reader.takeMatching(/\{(\d{1,9})(,?)(\d{0,9})\}/y);
    if (braces !== null) {
      this.#repeatByNumber(braces);
      return;
    }
    const character = reader.take();
    if (character === "^" || character === "$") this.#assert(character);
    else if (character === "\\" && reader.takeIf("b")) this.#assert("\\b");
    else if (character === "\\" && reader.takeIf("B")) this.#assert("\\B");
    else if (character === "(") this.#open();
    else if (character === ")") this.#close();
    else if (character === "|") this.#choose();
    else if (character === "*") this.#repeat("*", "*", 1);
    else if (character === "+") this.#repeat("+", "+", 1);
    else if (character === "?") this.#repeat("?", "?", 1);
    else if (character === "[") this.#one(readClass(reader));
    else if (character === ".") this.#one(anyCharacter);
    else if (character === "\n") throw refuseLineBreak();
    else if (character === "\\") {
      const members = readEscape(reader);
      this.#one(bracket(members), members.single);
    } else this.#one(escapeCharacter(character), character);
  }

  #push(part: Part): void {
    this.#parts.push(part);
  }

  #one(text: string, character?: string): void {
    this.#push({ text, ...(character !== undefined && { character }) });
    if (character === "\r") this.#namesReturn = true;
    if (character !== undefined && this.#groups.length === 1) this.#run += character;
    else this.#endRun();
    this.#grow(1);
    this.#mayRepeat = "yes";
  }

  #assert(assertion: Assertion): void {
    this.#push({ text: "", assertion });
    this.#grow(1);
    this.#mayRepeat = "assertion";
  }

  #grow(size: number): void {
    const group = this.#group;
    group.size += size;
    group.lastSize = size;
    if (group.size > mostInstructions) throw tooLarge();
  }

  #endRun(): void {
    if (this.#run.length > this.#literal.length) {
      this.#literal = [...this.#run].slice(0, longestLiteral).join("");
    }
    this.#run = "";
  }

  #open(): void {
    const reader = this.#reader;
    let opening = "(?:";
    if (reader.peek() === "?") {
      const found = reader.takeMatching(/\?(?:(-?[ims]*):|P?<[A-Za-z_]\w*>)/y);
      if (found === null) {
        throw reader.refuse(
          "(? begins something this search cannot do: it knows (?:…), (?<name>…) and (?i). " +
            "Lookaround and the like are not regular; search for less and read what is found",
        );
      }
      opening = this.#flags(found[1] ?? "", ":");
    }
    if (this.#groups.length > deepest) throw reader.refuse("its groups are nested too deeply");
    this.#endRun();
    this.#push({ text: opening });
    this.#groups.push({ size: 0, lastSize: 0 });
    this.#mayRepeat = "nothing";
  }

  /** `m` and `s` change nothing where every line is looked at alone. */
  #flags(flags: string, end: ")" | ":"): string {
    if (!flags.includes("i")) return end === ":" ? "(?:" : "";
    const isOn = !flags.startsWith("-");
    if (isOn) this.#foldsCase = true;
    return `(?${isOn ? "i" : "-i"}${end}`;
  }

  #close(): void {
    const closed = this.#groups.pop();
    if (this.#groups.length === 0 || closed === undefined) {
      throw this.#reader.refuse("a ) has no (. Write \\) for the parenthesis itself");
    }
    this.#push({ text: ")" });
    this.#grow(closed.size + 1);
    this.#mayRepeat = "yes";
  }

  #choose(): void {
    if (this.#groups.length === 1) this.#hasChoice = true;
    this.#push({ text: "|" });
    this.#grow(1);
    this.#mayRepeat = "nothing";
  }

  #repeatByNumber(braces: RegExpExecArray): void {
    const reader = this.#reader;
    const least = Number(braces[1]);
    const most = braces[2] === "" ? least : braces[3] === "" ? null : Number(braces[3]);
    if (Math.max(least, most ?? 0) > mostRepetitions) {
      throw reader.refuse(`a part may be repeated at most ${mostRepetitions} times by number`);
    }
    if (most !== null && most < least) throw reader.refuse("a repetition's numbers are reversed");
    const count = most === null ? `{${least},}` : `{${least},${most}}`;
    this.#repeat(braces[0], count, Math.max(least, most ?? 0) + 1);
  }

  #repeat(written: string, count: string, times: number): void {
    const reader = this.#reader;
    if (this.#mayRepeat === "nothing") {
      throw reader.refuse(
        `there is nothing to repeat before ${written}. Write \\${written} to match the character itself`,
      );
    }
    if (this.#mayRepeat === "assertion") throw reader.refuse("^, $ and \\b cannot be repeated");
    if (this.#mayRepeat === "repeated") throw reader.refuse("two repetitions follow each other");
    reader.takeIf("?"); // Lazy or not: a line matches either way.
    if (reader.takeIf("+")) {
      throw reader.refuse("possessive repetition (+ after a count) is not known");
    }
    const part = this.#parts.at(-1);
    if (part !== undefined) part.text += count;
    const isOptional = !/^(?:\+|\{[1-9])/.test(count);
    if (isOptional && this.#run !== "") this.#run = [...this.#run].slice(0, -1).join("");
    this.#endRun();
    const group = this.#group;
    this.#grow(group.lastSize * (times - 1) + 1);
    this.#mayRepeat = "repeated";
  }

  #write(index: number, assertion: WriteAssertion): string {
    const part = this.#parts[index];
    if (part?.assertion === undefined) return part?.text ?? "";
    const [isFirst, isLast] = this.#place(index);
    if (part.assertion !== "\\b" || !this.#isBesideLetter(index)) {
      return assertion(part.assertion, isFirst, isLast);
    }
    // RE2 knows ASCII words alone. Beside a written letter the edge can be said in another way.
    return isFirst
      ? `(?:${assertion("^", false, false)}|${notWord})`
      : `(?:${assertion("$", false, false)}|${notWord})`;
  }

  #checkEdge(index: number): void {
    const assertion = this.#parts[index]?.assertion;
    if (assertion !== "\\b" && assertion !== "\\B") return;
    if (!this.#isBesideLetter(index)) return;
    const [isFirst, isLast] = this.#place(index);
    if (assertion === "\\b" && (isFirst || isLast)) return;
    throw this.#reader.refuse(
      `${assertion} beside a letter outside ASCII is known only as \\b at the beginning or the end of a pattern`,
    );
  }

  #place(index: number): readonly [isFirst: boolean, isLast: boolean] {
    const isFirst = this.#parts.slice(0, index).every(({ isFlag }) => isFlag === true);
    return [isFirst, index === this.#parts.length - 1];
  }

  #isBesideLetter(index: number): boolean {
    return [this.#parts[index - 1], this.#parts[index + 1]].some(
      (part) =>
        part?.character !== undefined &&
        /[^\0-\x7f]/.test(part.character) &&
        /[\p{L}\p{M}]/u.test(part.character),
    );
  }
}
