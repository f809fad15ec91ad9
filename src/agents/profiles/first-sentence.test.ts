import { expect, test } from "vitest";
import { firstSentence } from "./first-sentence.ts";

test.each([
  ["You review code. Be brief.", "You review code."],
  ["You review code", "You review code"],
  ["# Reviewer\n\nYou review v1.2 of it! Now.", "You review v1.2 of it!"],
  ["# Only a heading", "Only a heading"],
  ["<role>\n**You** are `it`.\n</role>", "You are it."],
  ["---\n\n- First point", "First point"],
  ["", ""],
  ["---\n***\n", ""],
])("of %j the first sentence is %j", (prompt, sentence) => {
  expect(firstSentence(prompt)).toBe(sentence);
});

test("it is at most 200 characters, and whole ones", () => {
  expect(firstSentence("x".repeat(500))).toHaveLength(200);
  expect(firstSentence(`${"x".repeat(199)}👩`).isWellFormed()).toBe(true);
});
