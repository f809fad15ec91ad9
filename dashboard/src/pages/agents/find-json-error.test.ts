import fc from "fast-check";
import { expect, it } from "vitest";
import { cases } from "../../../../src/testing/cases.test-support.ts";
import { findJsonError } from "./find-json-error.ts";

it("finds nothing in JSON, and something in everything else", () => {
  const pieces = fc.array(
    fc.constantFrom(
      "{",
      "}",
      "[",
      "]",
      ",",
      ":",
      '"a"',
      "1",
      "-",
      "true",
      "nul",
      " ",
      "\n",
      '"\\x"',
    ),
    { maxLength: 12 },
  );
  const isJson = (text: string): boolean => {
    try {
      JSON.parse(text);
      return true;
    } catch {
      return false;
    }
  };
  fc.assert(
    fc.property(
      fc.oneof(
        pieces.map((some) => some.join("")),
        fc.json(),
        fc.string(),
      ),
      (text) => {
        expect(findJsonError(text) === undefined).toBe(isJson(text));
      },
    ),
    { numRuns: cases(3000) },
  );
});

it("says where", () => {
  const at = (text: string) => text.slice(findJsonError(text));
  expect(at('{"a": [}')).toBe("}");
  expect(at('{"a": 1,}')).toBe("}");
  expect(at('{"a": 1 "b": 2}')).toBe('"b": 2}');
  expect(at("{'a': 1}")).toBe("'a': 1}");
  expect(at('{"a": 1} x')).toBe("x");
  expect(findJsonError('{"a": ')).toBe(6);
});
