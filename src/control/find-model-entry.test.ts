import { expect, test } from "vitest";
import { findModelEntry } from "./shipped-models.ts";

const table = { "a/model": "plain", "a/model-20250101": "dated" };

test.each([
  ["a/model", "plain"],
  ["a/model-20250101", "dated"],
  ["a/model-20260101", "plain"],
  ["a/model-2026-01-01", "plain"],
  ["a/model@20260101", "plain"],
  ["a/model:latest", "plain"],
  ["a/model-0613", "plain"],
  ["a/model-001", "plain"],
  ["a/model-mini", undefined],
  ["a/model-2", undefined],
  ["b/model", undefined],
  ["constructor", undefined],
  ["__proto__", undefined],
])("%s is %s", (name, expected) => {
  expect(findModelEntry(table, name)).toBe(expected);
});
