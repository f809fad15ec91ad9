import { type CharacterSet, lastCodePoint, negateSet } from "./character-set.ts";
import { PatternRefused } from "./pattern-node.ts";
import type { PatternReader } from "./pattern-reader.ts";
import { digits, propertySet, whiteSpace, wordCharacters } from "./unicode-sets.ts";

const controls: Readonly<Record<string, number>> = { t: 9, v: 11, f: 12, r: 13, a: 7 };

/** What stands after a backslash and means characters, inside a class or outside. */
export function parseEscape(reader: PatternReader): CharacterSet {
  const letter = reader.take();
  if (letter === "") throw reader.refuse("it ends in a backslash. Write \\\\ for a backslash");
  if (letter === "d") return digits();
  if (letter === "D") return negateSet(digits());
  if (letter === "w") return wordCharacters();
  if (letter === "W") return negateSet(wordCharacters());
  if (letter === "s") return whiteSpace();
  if (letter === "S") return negateSet(whiteSpace());
  if (letter === "n") throw refuseLineBreak();
  if (Object.hasOwn(controls, letter)) return one(controls[letter] ?? 0);
  if (letter === "x") return one(parseHex(reader, 2));
  if (letter === "u") return one(parseHex(reader, 4));
  if (letter === "p" || letter === "P") return parseProperty(reader, letter === "P");
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
  return one(letter.codePointAt(0) ?? 0);
}

export function refuseLineBreak(): PatternRefused {
  return new PatternRefused(
    "The pattern contains a line break, and a search looks at one line at a time. Search for the " +
      "most telling line and use context to see its neighbours.",
  );
}

function one(codePoint: number): CharacterSet {
  if (codePoint === 10) throw refuseLineBreak();
  return [codePoint, codePoint];
}

function parseHex(reader: PatternReader, length: number): number {
  const written = reader.takeMatching(
    new RegExp(`\\{([0-9A-Fa-f]{1,8})\\}|([0-9A-Fa-f]{${length}})`, "y"),
  );
  const codePoint = Number.parseInt(written?.[1] ?? written?.[2] ?? "", 16);
  const isSurrogate = codePoint >= 0xd800 && codePoint <= 0xdfff;
  if (codePoint <= lastCodePoint && !isSurrogate) return codePoint;
  throw reader.refuse("\\x and \\u need the number of a character, as in \\x41 or \\u{1F600}");
}

/** A closed list: each name costs a walk through Unicode once, and is kept. */
const properties: Readonly<Record<string, string>> = {
  ...{ L: "L", Lu: "Lu", Ll: "Ll", N: "N", Nd: "Nd", P: "P", S: "S", Z: "Z", Emoji: "Emoji" },
  ...{ Alphabetic: "Alphabetic", Uppercase: "Uppercase", Lowercase: "Lowercase" },
  ...{ Latin: "Script=Latin", Greek: "Script=Greek", Cyrillic: "Script=Cyrillic" },
  ...{ Han: "Script=Han", Hiragana: "Script=Hiragana", Katakana: "Script=Katakana" },
  ...{ Hangul: "Script=Hangul", Arabic: "Script=Arabic", Hebrew: "Script=Hebrew" },
};

function parseProperty(reader: PatternReader, isNegated: boolean): CharacterSet {
  const written = reader.takeMatching(/\{(\w{1,20})\}|([LNPSZ])/y);
  const name = written?.[1] ?? written?.[2] ?? "";
  if (!Object.hasOwn(properties, name)) {
    throw reader.refuse(`\\p knows ${Object.keys(properties).join(", ")}, as in \\p{Lu}`);
  }
  const set = propertySet(`\\p{${properties[name]}}`);
  return isNegated ? negateSet(set) : set;
}
