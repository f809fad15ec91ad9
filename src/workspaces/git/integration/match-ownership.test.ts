import fc from "fast-check";
import { expect, test } from "vitest";
import { cases } from "../../../testing/cases.test-support.ts";
import { isOwned, ownershipOverlaps } from "./match-ownership.ts";

test("patterns own what they name", () => {
  const owned: [string, string][] = [
    ["src/a.ts", "src/a.ts"],
    ["src", "src/deep/a.ts"],
    ["src/", "src/a.ts"],
    ["src/*.ts", "src/a.ts"],
    ["src/**", "src/deep/er/a.ts"],
    ["src/**/a.ts", "src/a.ts"],
    ["src/**/a.ts", "src/x/y/a.ts"],
    ["**/*.md", "README.md"],
    ["**", "anything/at/all"],
    ["./src/?.ts", "src/a.ts"],
  ];
  for (const [pattern, path] of owned)
    expect([pattern, path, isOwned([pattern], path)]).toContain(true);
  const foreign: [string, string][] = [
    ["src", "src-evil/a.ts"],
    ["src/*.ts", "src/deep/a.ts"],
    ["src/**/a.ts", "src/ba.ts"],
    ["*.md", "docs/x.md"],
    ["src/**", "srcs"],
    ["*", "a/b"],
    ["**/x/", "y/z"],
  ];
  for (const [pattern, path] of foreign)
    expect([pattern, path, isOwned([pattern], path)]).toContain(false);
  expect(isOwned([], "a")).toBe(false);
});

test("long patterns do not take exponential time", () => {
  expect(isOwned([`${"**/a/".repeat(40)}b`], "a/".repeat(200).slice(0, -1))).toBe(false);
});

test("patterns that own a common path overlap", () => {
  const segment = fc.constantFrom("a", "b", "c", "*", "?", "**", "a*");
  const pattern = fc.array(segment, { minLength: 1, maxLength: 4 }).map((list) => list.join("/"));
  const path = fc.array(fc.constantFrom("a", "b", "c", "ab"), { minLength: 1, maxLength: 5 });
  fc.assert(
    fc.property(pattern, pattern, path, (left, right, names) => {
      const both = isOwned([left], names.join("/")) && isOwned([right], names.join("/"));
      if (both) expect(ownershipOverlaps([left], [right])).toBe(true);
    }),
    { numRuns: cases(5000) },
  );
  expect(ownershipOverlaps(["src/a"], ["src/b"])).toBe(false);
  expect(ownershipOverlaps(["src/a/**"], ["src/b/*.ts", "docs"])).toBe(false);
  expect(ownershipOverlaps(["src"], ["src/deep/x.ts"])).toBe(true);
});
