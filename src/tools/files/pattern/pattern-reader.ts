import { clip } from "../../../text.ts";

/** A pattern that is not understood, or not offered. The message is for the model that wrote it. */
export class PatternRefused extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "PatternRefused";
  }
}

/** Reads a pattern character by character and knows its position, for the message of a refusal. */
export class PatternReader {
  readonly text: string;
  position = 0;

  constructor(text: string) {
    this.text = text;
  }

  get isAtEnd(): boolean {
    return this.position >= this.text.length;
  }

  peek(): string {
    const codePoint = this.text.codePointAt(this.position);
    return codePoint === undefined ? "" : String.fromCodePoint(codePoint);
  }

  take(): string {
    const character = this.peek();
    this.position += character.length;
    return character;
  }

  takeIf(expected: string): boolean {
    if (!this.text.startsWith(expected, this.position)) return false;
    this.position += expected.length;
    return true;
  }

  /** The match of a sticky expression at the present position. */
  takeMatching(expression: RegExp): RegExpExecArray | null {
    expression.lastIndex = this.position;
    const found = expression.exec(this.text);
    if (found !== null) this.position += found[0].length;
    return found;
  }

  refuse(reason: string): PatternRefused {
    const shown = clip(this.text, 201);
    return new PatternRefused(
      `The pattern ${JSON.stringify(shown)} is not understood at character ${this.position}: ${reason}.`,
    );
  }
}

export function refuseLineBreak(): PatternRefused {
  return new PatternRefused(
    "The pattern contains a line break, and a search looks at one line at a time. Search for the " +
      "most telling line and use context to see its neighbours.",
  );
}

/**
 * Characters in the syntax that RE2 and Rust share, for use between brackets. RE2 reads a byte that
 * is not UTF-8 as U+FFFD; ripgrep matches no such byte, so each complement leaves U+FFFD out.
 */
interface Members {
  readonly text: string;
  /** The text names all characters that are not to match. */
  readonly isComplement: boolean;
  /** The only character, when it is one. */
  readonly single?: string;
}

const word = "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}";
const digit = "\\p{Nd}";
const space = "\\p{White_Space}";
const invalid = "\\x{FFFD}";

export const notWord = `[^${word}]`;
export const anyCharacter = `[^${invalid}]`;
export const noCharacter = "[^\\x{0}-\\x{10FFFF}]";

const controls: Readonly<Record<string, string>> = {
  t: "\t",
  v: "\v",
  f: "\f",
  r: "\r",
  a: "\x07",
};
const lastCodePoint = 0x10ffff;

/** A closed list: RE2 and ripgrep know all of them by the same name. */
const properties = [
  ...["L", "Lu", "Ll", "N", "Nd", "P", "S", "Z", "Emoji", "Alphabetic", "Uppercase", "Lowercase"],
  ...["Latin", "Greek", "Cyrillic", "Han", "Hiragana", "Katakana", "Hangul", "Arabic", "Hebrew"],
];

const posixClasses = [
  ...["alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph"],
  ...["lower", "print", "punct", "space", "upper", "word", "xdigit"],
];

/** A character that stands for itself, outside brackets and between them. */
export function escapeCharacter(character: string): string {
  if (/^[\p{L}\p{N}_ ]$/u.test(character)) return character;
  return `\\x{${(character.codePointAt(0) ?? 0).toString(16).toUpperCase()}}`;
}

/** A whole bracket expression, for members that stand alone. */
export function bracket({ text, isComplement, single }: Members): string {
  if (single !== undefined) return text;
  return isComplement ? `[^${text}${invalid}]` : `[${text}]`;
}

/** Reads the rest of an escape that stands for characters, inside brackets or outside. */
export function readEscape(reader: PatternReader): Members {
  const letter = reader.take();
  if (letter === "") throw reader.refuse("it ends in a backslash. Write \\\\ for a backslash");
  const isComplement = "DWSP".includes(letter);
  if (letter === "d" || letter === "D") return { text: digit, isComplement };
  if (letter === "w" || letter === "W") return { text: word, isComplement };
  if (letter === "s" || letter === "S") return { text: space, isComplement };
  if (letter === "p" || letter === "P") return { text: readProperty(reader), isComplement };
  if (letter === "n") throw refuseLineBreak();
  if (Object.hasOwn(controls, letter)) return one(controls[letter] ?? "");
  if (letter === "x") return one(readHex(reader, 2));
  if (letter === "u") return one(readHex(reader, 4));
  if (/[1-9]/.test(letter) || letter === "k") {
    throw reader.refuse(
      "it refers back to a group, which this search cannot do. Search for a simpler pattern and " +
        "read the lines it finds",
    );
  }
  if (letter === "A") throw reader.refuse("\\A is not known: a search looks at lines. Write ^");
  if (letter === "z" || letter === "Z") {
    throw reader.refuse(`\\${letter} is not known: a search looks at lines. Write $`);
  }
  if (/[A-Za-z0-9]/.test(letter)) {
    throw reader.refuse(
      `\\${letter} means nothing here. For the character itself leave out the \\`,
    );
  }
  return one(letter);
}

/**
 * Reads a class; its first bracket has been taken. A `[` inside is the character itself, as in most
 * languages. The set operations of a few languages are refused: elsewhere they mean something else.
 */
export function readClass(reader: PatternReader): string {
  const isNegated = reader.takeIf("^");
  const members: Members[] = [];
  for (let isFirst = true; isFirst || reader.peek() !== "]"; isFirst = false) {
    if (reader.isAtEnd) throw reader.refuse("a [ has no ]. Write \\[ for the bracket itself");
    if (reader.takeMatching(/(?:&&|--|~~)(?=\[)/y) !== null) {
      throw reader.refuse("classes cannot be combined with &&, -- or ~~. Write the ranges out");
    }
    members.push(readMember(reader));
  }
  reader.take();
  const listed = members.filter(({ isComplement }) => !isComplement).map(({ text }) => text);
  const complements = members.filter(({ isComplement }) => isComplement);
  if (isNegated)
    return `[^${listed.join("")}${complements.map(complementText).join("")}${invalid}]`;
  if (complements.length === 0) return `[${listed.join("")}]`;
  const options = complements.map(bracket);
  if (listed.length > 0) options.unshift(`[${listed.join("")}]`);
  return `(?:${options.join("|")})`;
}

/** The complement inside a negated class, where brackets cannot be nested. */
function complementText({ text }: Members): string {
  if (text === word) return nonWordRanges();
  return text.startsWith("\\p") ? text.replace("\\p", "\\P") : `[:^${text.slice(2)}`;
}

let knownNonWordRanges: string | undefined;

/** Every character that is no word character as ranges: RE2 has no name for the complement of a union. */
function nonWordRanges(): string {
  if (knownNonWordRanges !== undefined) return knownNonWordRanges;
  const isWord = /[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}]/u;
  // No character beyond the third plane is a letter, and the variation selectors are marks.
  const bounds = [0];
  for (let at = 0, was = false; at <= 0xe01f0; at += 1) {
    if (at === 0x40000) at = 0xe0000;
    const is = isWord.test(String.fromCodePoint(at));
    if (is !== was) bounds.push(is ? at - 1 : at);
    was = is;
  }
  bounds.push(lastCodePoint);
  const hex = (at: number) => `\\x{${at.toString(16).toUpperCase()}}`;
  const ranges: string[] = [];
  for (let index = 0; index + 1 < bounds.length; index += 2) {
    ranges.push(`${hex(bounds[index] ?? 0)}-${hex(bounds[index + 1] ?? 0)}`);
  }
  knownNonWordRanges = ranges.join("");
  return knownNonWordRanges;
}

function readMember(reader: PatternReader): Members {
  const from = readOne(reader);
  const isRange = reader.peek() === "-" && !["]", ""].includes(charAfter(reader));
  if (!isRange || from.single === undefined) return from;
  const start = reader.position;
  reader.take();
  const to = readOne(reader);
  const isOrdered = codePointOf(from.single) <= codePointOf(to.single ?? "");
  if (to.single !== undefined && isOrdered) {
    return { text: `${from.text}-${to.text}`, isComplement: false };
  }
  reader.position = start;
  throw reader.refuse("a range goes from a character to a later one, as in [a-z]");
}

function readOne(reader: PatternReader): Members {
  const named = reader.takeMatching(/\[:(\^?)(\w{1,10}):\]/y);
  if (named !== null) {
    const name = named[2] ?? "";
    if (!posixClasses.includes(name)) throw reader.refuse(`[:${name}:] is not known`);
    return { text: `[:${name}:]`, isComplement: named[1] === "^" };
  }
  const character = reader.take();
  if (character === "\\") return reader.takeIf("b") ? one("\b") : readEscape(reader);
  return one(character);
}

function one(character: string): Members {
  if (character === "\n") throw refuseLineBreak();
  return { text: escapeCharacter(character), isComplement: false, single: character };
}

function codePointOf(character: string): number {
  return character.codePointAt(0) ?? -1;
}

function charAfter(reader: PatternReader): string {
  return reader.text[reader.position + 1] ?? "";
}

function readHex(reader: PatternReader, length: number): string {
  const written = reader.takeMatching(
    new RegExp(`\\{([0-9A-Fa-f]{1,8})\\}|([0-9A-Fa-f]{${length}})`, "y"),
  );
  const codePoint = Number.parseInt(written?.[1] ?? written?.[2] ?? "", 16);
  const isSurrogate = codePoint >= 0xd800 && codePoint <= 0xdfff;
  if (codePoint <= lastCodePoint && !isSurrogate) return String.fromCodePoint(codePoint);
  throw reader.refuse("\\x and \\u need the number of a character, as in \\x41 or \\u{1F600}");
}

function readProperty(reader: PatternReader): string {
  const written = reader.takeMatching(/\{(\w{1,20})\}|([LNPSZ])/y);
  const name = written?.[1] ?? written?.[2] ?? "";
  if (properties.includes(name)) return `\\p{${name}}`;
  throw reader.refuse(`\\p knows ${properties.join(", ")}, as in \\p{Lu}`);
}
