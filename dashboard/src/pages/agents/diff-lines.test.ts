import fc from "fast-check";
import { expect, it } from "vitest";
import { diffLines } from "./diff-lines.ts";

const someText = fc
  .array(fc.constantFrom("a", "b", "c", ""), { minLength: 1, maxLength: 20 })
  .map((lines) => lines.join("\n"));

it("gives back both texts, and marks nothing where they are the same", () => {
  fc.assert(
    fc.property(someText, someText, (theirs, mine) => {
      const lines = diffLines(theirs, mine);
      const of = (side: string): string =>
        lines
          .filter((line) => line.side === "both" || line.side === side)
          .map(({ text }) => text)
          .join("\n");
      expect([of("theirs"), of("mine")]).toEqual([theirs, mine]);
      if (theirs === mine) expect(lines.every(({ side }) => side === "both")).toBe(true);
    }),
  );
});

it("marks no more than what differs", () => {
  expect(diffLines("a\nb\nc\nd", "a\nx\nc\nd").filter(({ side }) => side !== "both")).toEqual([
    { side: "theirs", text: "b" },
    { side: "mine", text: "x" },
  ]);
});

it("takes long texts that have nothing in common", () => {
  const long = (word: string): string =>
    Array.from({ length: 20_000 }, (_, index) => `${word}${index}`).join("\n");
  expect(diffLines(long("a"), long("b"))).toHaveLength(40_000);
});
