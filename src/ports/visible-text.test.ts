import { stripVTControlCharacters } from "node:util";
import fc from "fast-check";
import { expect, test } from "vitest";
import { cases } from "../testing/cases.test-support.ts";
import {
  findHidden,
  revealHidden,
  stripHidden,
  stripTerminalCodes,
  visibleJson,
} from "./visible-text.ts";

const piece = fc.oneof(
  fc.constantFrom(
    ...["\u001b", "\u009b", "\u001b]", "\u001b[", "\u0007", "\u001b\\", "\u009c", "\\"],
    ...["\u001b]8;;http://x\u0007", "\u001b]0;t", "\u001b[31m", "\u001b[38:2:1:2:3m", "\u001b(B"],
    ...["0", "12345", ";", ":", "?", "#", "(", "m", "Q", "o", "~", "=", "a b", "\n", "漢"],
  ),
  fc.string({ maxLength: 3 }),
);

test("it leaves what the platform's own function leaves", () => {
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
      const text = pieces.join("");
      expect(stripTerminalCodes(text)).toBe(stripVTControlCharacters(text));
    }),
    { numRuns: cases(3000) },
  );
});

test.each([
  ["openings", "\u001b]"],
  ["openings and closings", "\u001b]\u001b]x\u0007"],
  ["codes without an end", "\u001b[1;1;1;"],
  ["brackets", "\u001b[[[[[[["],
])("%s are left over from long texts as from short ones", (_what, text) => {
  const short = stripVTControlCharacters(text.repeat(30));
  expect(stripTerminalCodes(text.repeat(30_000))).toBe(short.repeat(1000));
});

test("one code that hardly ends is left over or removed as a whole", () => {
  const open = `\u001b${"[;".repeat(100_000)}`;
  expect(stripTerminalCodes(open)).toBe(open);
  expect(stripTerminalCodes(`\u001b1${";1".repeat(100_000)} `)).toBe(" ");
});

test.each([
  ["escape sequences", "\u001b[31mred", "red"],
  ["bidirectional controls", "a\u202eb\u2066c\u200f\u061cd", "abcd"],
  ["zero-width characters", "a\u200bb\u200cc\u200dd\u2060e\ufefff", "abcdef"],
  ["soft hyphens and fillers", "a\u00adb\u034fc\u115fd\u3164e\uffa0f", "abcdef"],
  ["tags", "a\u{e0041}\u{e007f}b", "ab"],
  ["rows of variation selectors", "x\ufe01\ufe02\u{e0101}\u{e01ef}y\ufe0f\ufe0fz", "xyz"],
  ["line separators", "a\u2028b\u2029c", "abc"],
  ["annotations", "a\ufff9b\ufffac\ufffb", "abc"],
  ["joiners at the edge of a word", "کتاب\u200c \u200dhello", "کتاب hello"],
])("%s are removed, and found", (_what, text, visible) => {
  expect(stripHidden(text)).toBe(visible);
  expect(findHidden(text)).toBeDefined();
  expect(findHidden(revealHidden(text))).toBeUndefined();
});

test.each([
  ["pictures of several parts", "👩‍💻 👨‍👩‍👧 🏳️‍🌈 1️⃣ ❤️ 👍🏽"],
  ["words that are spelled with joiners", "می‌خواهم क्‍ष"],
  ["lines, tabs and every script", "one\n\ttwo 漢字 émoji שלום"],
])("%s stay as they are", (_what, text) => {
  expect(stripHidden(text)).toBe(text);
  expect(revealHidden(text)).toBe(text);
});

test("nothing of a text is lost where hidden characters are shown", () => {
  expect(revealHidden("a\u001b[2Jb\u202ec\u200bd\u{e0041}")).toBe(
    "a␛[2Jb\\u{202e}c\\u{200b}d\\u{e0041}",
  );
});

test("JSON is the same data, with nothing hidden in it", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 60 }), (text) => {
      const json = visibleJson({ text });
      expect(JSON.parse(json)).toEqual({ text });
      expect(findHidden(json)).toBeUndefined();
    }),
  );
});
