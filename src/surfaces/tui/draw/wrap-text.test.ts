import fc from "fast-check";
import { expect, test } from "vitest";
import { displayWidth } from "../../cli/display-width.ts";
import { wrapText } from "./wrap-text.ts";

test("Lines are broken between words and keep their indentation", () => {
  expect(wrapText("  - one two three", 10)).toEqual(["  - one", "  two", "  three"]);
});

test("A word that is longer than a line is cut, also one of a megabyte", () => {
  expect(wrapText("abcdefgh", 3)).toEqual(["abc", "def", "gh"]);
  expect(wrapText("x".repeat(1_000_000), 80)).toHaveLength(12_500);
});

test("No line is wider than asked, and no letter is lost", () => {
  fc.assert(
    fc.property(
      fc.string({ unit: "grapheme", maxLength: 200 }),
      fc.integer({ min: 4, max: 60 }),
      (text, width) => {
        const lines = wrapText(text, width);
        for (const line of lines) expect(displayWidth(line)).toBeLessThanOrEqual(width);
        const letters = (all: string) => all.replaceAll(/[\s]/gu, "");
        expect(letters(lines.join(""))).toBe(letters(text));
      },
    ),
  );
});
