import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cases } from "../testing/cases.test-support.ts";
import {
  askIdOf,
  askNumberOf,
  controlRunId,
  hexOf,
  numberOf,
  runIdOf,
  runNumberOf,
} from "./identity.ts";

const number = fc.oneof(
  fc.integer({ min: 0, max: 2 ** 32 - 1 }),
  fc.integer({ min: 2 ** 24 - 50, max: 2 ** 24 + 50 }),
);

describe("an id", () => {
  it("is a number in disguise, and can be read back", () => {
    fc.assert(
      fc.property(number, (value) => {
        expect(hexOf(value)).toMatch(value < 2 ** 24 ? /^[0-9a-f]{6}$/ : /^[0-9a-f]{8}$/);
        expect(numberOf(hexOf(value))).toBe(value);
        expect(runNumberOf(runIdOf(value))).toBe(value);
        expect(askNumberOf(askIdOf(value))).toBe(value);
      }),
      { numRuns: cases(5000) },
    );
  });

  it("is nobody else's: two hundred thousand in a row are all different", () => {
    for (const first of [0, 2 ** 24 - 100_000]) {
      const ids = new Set<string>();
      for (let value = first; value < first + 200_000; value++) ids.add(hexOf(value));
      expect(ids.size).toBe(200_000);
    }
  });

  it("does not give its neighbour away", () => {
    const shared = [0, 1, 2, 3, 4, 5].map((place) => {
      let same = 0;
      for (let value = 1; value < 1000; value++) {
        if (hexOf(value)[place] === hexOf(value + 1)[place]) same++;
      }
      return same;
    });
    for (const count of shared) expect(count).toBeLessThan(700);
  });

  it("has one spelling, and garbage has no number", () => {
    const garbage = ["", "r", "xyzxyz", "ABCDEF", "12345", "1234567", "0x1234", "-12345", "12.456"];
    for (const text of [...garbage, " 12345", "12345 ", "１２３４５６", "ABCDEF01"]) {
      expect(numberOf(text), text).toBeUndefined();
    }
    // Eight digits that would be a number with a shorter name.
    const long = Array.from({ length: 5000 }, (_, index) =>
      (index * 857_123).toString(16).padStart(8, "0"),
    );
    for (const text of long) {
      const value = numberOf(text);
      if (value !== undefined) expect(hexOf(value)).toBe(text);
    }
    fc.assert(
      fc.property(fc.string(), (text) => {
        const value = numberOf(text);
        if (value !== undefined) expect(hexOf(value)).toBe(text);
        expect(runNumberOf(`x${text}`)).toBeUndefined();
      }),
    );
  });

  it("of a run, a delegation and a question cannot be taken for each other", () => {
    fc.assert(
      fc.property(number, (value) => {
        expect(numberOf(runIdOf(value))).toBeUndefined();
        expect(askNumberOf(runIdOf(value))).toBeUndefined();
        expect(runNumberOf(hexOf(value))).toBeUndefined();
      }),
    );
  });

  it("of the control log is that of number zero, which stores give to nobody", () => {
    expect(runNumberOf(controlRunId)).toBe(0);
    fc.assert(
      fc.property(number, (value) => {
        expect(runIdOf(value) === controlRunId).toBe(value === 0);
      }),
    );
  });

  it("ends where the store runs out", () => {
    expect(() => hexOf(2 ** 32)).toThrow("There is no id for the number 4294967296");
  });
});
