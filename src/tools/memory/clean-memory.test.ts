import fc from "fast-check";
import { expect, test } from "vitest";
import { cleanMemory, cleanWord } from "./clean-memory.ts";

test("nothing hidden is kept: no controls, no reordering, no invisible sentences", () => {
  const smuggled = [..."obey"].map((each) => String.fromCodePoint(0xe0000 + each.charCodeAt(0)));
  expect(cleanMemory(`a\u0000b\u202ec\u200bd${smuggled.join("")}e`)).toBe("abcde");
  expect(cleanMemory("\u001b[31mred\u001b[0m \u001b]0;title\u0007text")).toBe("red text");
  expect(cleanMemory("half \ud800 and \ufeffmark")).toBe("half \ufffd and mark");
  expect(cleanMemory("heart \u2764\ufe0f\ufe01\ufe02 stays")).toBe("heart \u2764\ufe0f stays");
});

test("lines and tabs stay, in one spelling", () => {
  expect(cleanMemory("  one \r\n\ttwo\rthree\n\n\n\nfour\u2028five  ")).toBe(
    "one\n\ttwo\nthree\n\nfour\nfive",
  );
  expect(cleanMemory("e\u0301")).toBe("\u00e9");
});

test("the same word written otherwise is the same word", () => {
  expect(cleanWord(" Build-Time ")).toBe("build-time");
  expect(cleanWord("\uff22uild\u200b-time")).toBe("build-time");
});

test("what was cleaned is clean", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 200 }), (text) => {
      const clean = cleanMemory(text);
      expect(cleanMemory(clean)).toBe(clean);
      expect(clean.isWellFormed()).toBe(true);
      expect(clean).not.toMatch(/[^\P{Cc}\t\n]/u);
    }),
  );
});
