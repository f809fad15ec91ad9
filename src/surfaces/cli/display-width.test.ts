import { expect, test } from "vitest";
import { displayWidth, padEnd, shorten, wrap } from "./display-width.ts";

test.each([
  ["plain", 5],
  ["\u001b[31mred\u001b[39m", 3],
  ["é", 1],
  ["e\u0301", 1],
  ["漢字", 4],
  ["한국", 4],
  ["👍", 2],
  ["👩‍💻", 2],
  ["✓ ├─", 4],
  ["❤️", 2],
  ["1️⃣", 2],
  ["🇩🇪", 2],
  ["👍🏽", 2],
  ["क्षि", 3],
  ["\u1100\u1161\u11a8", 2],
  ["\u200b", 0],
])("%j takes %i cells", (text, cells) => {
  expect(displayWidth(text)).toBe(cells);
});

test("what is too long ends in an ellipsis and never between the halves of a character", () => {
  expect(shorten("twelve letters", 8)).toBe("twelve…");
  expect(shorten("漢字漢字", 6)).toBe("漢字…");
  expect(shorten("👩‍💻👩‍💻", 3)).toBe("👩‍💻…");
  expect(shorten("abc", 3)).toBe("abc");
  expect(shorten("abcdef", 4, "...")).toBe("a...");
  expect(shorten("abc", 0)).toBe("");
});

test("columns are padded by cells", () => {
  expect(padEnd("漢", 4)).toBe("漢  ");
  expect(padEnd("abcdef", 4)).toBe("abcdef");
});

test("text is broken between words; a word that is too long stands alone", () => {
  expect(wrap("one two three", 7)).toEqual(["one two", "three"]);
  expect(wrap("a reallylongword b", 5)).toEqual(["a", "reallylongword", "b"]);
  expect(wrap("", 5)).toEqual([""]);
});
