import { expect, test } from "vitest";
import { nearestKey } from "./nearest-key.ts";

const known = ["maxDepth", "defaultTimeout", "maxConcurrent", "tokenBudget", "enabled"];

test("a swapped, missing, wrong or doubled letter still finds the key", () => {
  expect(nearestKey("maxDetph", known)).toBe("maxDepth");
  expect(nearestKey("enabld", known)).toBe("enabled");
  expect(nearestKey("enabbled", known)).toBe("enabled");
  expect(nearestKey("tokenbudgit", known)).toBe("tokenBudget");
});

test("another way of joining words is the same key", () => {
  expect(nearestKey("max_depth", known)).toBe("maxDepth");
  expect(nearestKey("default-timeout", known)).toBe("defaultTimeout");
});

test("nothing is suggested when nothing is near", () => {
  expect(nearestKey("colour", known)).toBeUndefined();
  expect(nearestKey("x", known)).toBeUndefined();
  expect(nearestKey("enabled", [])).toBeUndefined();
});

test("the nearest of several wins", () => {
  expect(nearestKey("tool", ["tools", "tool_s", "pool"])).toBe("tools");
});

test("a pasted paragraph is not compared with anything", () => {
  expect(nearestKey("enabled".repeat(10_000), known)).toBeUndefined();
});
