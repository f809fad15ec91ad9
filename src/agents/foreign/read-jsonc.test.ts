import { expect, test } from "vitest";
import { readJsonc } from "./read-data.ts";

function read(text: string) {
  const data = readJsonc(text);
  if ("problem" in data) throw new Error(data.problem);
  return data;
}

test("a key is found on its line, and what is not there on the line of what it would be in", () => {
  const { lineOf, value } = read('{\n  "a": {\n    "b": [1,\n      {"c": 2}]\n  },\n  "a": 3\n}\n');
  expect(value).toEqual({ a: 3 });
  expect([lineOf([]), lineOf(["x"]), lineOf(["a"]), lineOf(["a", "b"])]).toEqual([1, 1, 6, 6]);
  const list = read('{"a":\n[1,\n{"c":\n2}]}');
  expect([lineOf([]), list.lineOf(["a", 1]), list.lineOf(["a", 1, "c"])]).toEqual([1, 3, 3]);
  expect(list.lineOf(["a", 7])).toBe(1);
});

test("a hundred thousand keys that are there twice are all named, with their lines", () => {
  const { duplicates } = read(`{${'"a": 1,\n'.repeat(100_000)}"b": 2}`);
  expect(duplicates).toHaveLength(99_999);
  expect(duplicates.at(-1)?.line).toBe(100_000);
});
