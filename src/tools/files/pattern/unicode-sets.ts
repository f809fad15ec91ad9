import { type CharacterSet, characterSet } from "./character-set.ts";

/**
 * What `\d`, `\w` and `\s` mean here: letters and digits of every script, as in ripgrep. Worked out
 * once, when a pattern first needs it.
 */
export const digits = () => propertySet("\\p{Nd}");
export const wordCharacters = () =>
  propertySet("\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\p{Join_Control}");
export const whiteSpace = () => propertySet("\\p{White_Space}");

/** Beyond the third plane nothing is assigned but tags and variation selectors. */
const assigned = [0, 0x3ffff, 0xe0000, 0xe01ff];

const known = new Map<string, CharacterSet>();

/** The characters with any of these properties, as JavaScript writes them in a class. */
export function propertySet(properties: string): CharacterSet {
  let set = known.get(properties);
  if (set === undefined) {
    set = collect(new RegExp(`[${properties}]`, "u"));
    known.set(properties, set);
  }
  return set;
}

function collect(property: RegExp): CharacterSet {
  const ranges: number[] = [];
  for (let part = 0; part < assigned.length; part += 2) {
    const last = assigned[part + 1] ?? 0;
    for (let codePoint = assigned[part] ?? 0; codePoint <= last; codePoint += 1) {
      if (!property.test(String.fromCodePoint(codePoint))) continue;
      if (ranges.at(-1) === codePoint - 1) ranges[ranges.length - 1] = codePoint;
      else ranges.push(codePoint, codePoint);
    }
  }
  return characterSet(ranges);
}

const ascii: Readonly<Record<string, readonly number[]>> = {
  alnum: [0x30, 0x39, 0x41, 0x5a, 0x61, 0x7a],
  alpha: [0x41, 0x5a, 0x61, 0x7a],
  ascii: [0, 0x7f],
  blank: [0x09, 0x09, 0x20, 0x20],
  cntrl: [0, 0x1f, 0x7f, 0x7f],
  digit: [0x30, 0x39],
  graph: [0x21, 0x7e],
  lower: [0x61, 0x7a],
  print: [0x20, 0x7e],
  punct: [0x21, 0x2f, 0x3a, 0x40, 0x5b, 0x60, 0x7b, 0x7e],
  space: [0x09, 0x0d, 0x20, 0x20],
  upper: [0x41, 0x5a],
  word: [0x30, 0x39, 0x41, 0x5a, 0x5f, 0x5f, 0x61, 0x7a],
  xdigit: [0x30, 0x39, 0x41, 0x46, 0x61, 0x66],
};

/** `[:alpha:]` and the like: ASCII alone, as POSIX and ripgrep have them. */
export function namedSet(name: string): CharacterSet | undefined {
  return Object.hasOwn(ascii, name) ? ascii[name] : undefined;
}
