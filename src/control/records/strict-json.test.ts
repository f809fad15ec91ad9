import fc from "fast-check";
import { expect, test } from "vitest";
import { cases } from "../../testing/cases.test-support.ts";
import { parseStrictJson } from "./strict-json.ts";

const caps = { bytes: 1000, depth: 4 };
const read = (text: string) => parseStrictJson(text, caps);

test.each([
  ["null", null],
  ["-0", -0],
  ["1E+2", 100],
  ['"\\u0000\\uD83D\\uDE00"', "\u0000😀"],
  ['"\u007f\u2028"', "\u007f\u2028"],
  [" \t\r\n[] \n", []],
  ["[[[[]]]]", [[[[]]]]],
  ['{"":0,"a b":{"":1}}', { "": 0, "a b": { "": 1 } }],
  ['["{[\\"{[", "]}"]', ['{["{[', "]}"]],
  ['[{"a":1},{"a":2}]', [{ a: 1 }, { a: 2 }]],
  ['{"a":{"a":{"a":"a"}}}', { a: { a: { a: "a" } } }],
  ['{"a":"b","b":"a"}', { a: "b", b: "a" }],
  ['{"a":["a:", "a"],"a:":1}', { a: ["a:", "a"], "a:": 1 }],
])("reads %s", (text, value) => {
  expect(read(text)).toEqual({ value });
});

test.each([
  ["", "nothing"],
  [" ", "nothing but space"],
  ["[1,]", "a comma before the end"],
  ["[,1]", "a comma at the start"],
  ["{,}", "a comma alone"],
  ['{"a":1,}', "a comma after the last key"],
  ["[1 2]", "a missing comma"],
  ["[1", "an open array"],
  ['{"a"', "an open object"],
  ['{"a" 1}', "a missing colon"],
  ["{a:1}", "a bare key"],
  ["{'a':1}", "single quotes"],
  ["{1:1}", "a number for a key"],
  ["01", "a leading zero"],
  ["+1", "a plus"],
  [".5", "a bare fraction"],
  ["1.", "an empty fraction"],
  ["1e", "an empty exponent"],
  ["0x1", "hexadecimal"],
  ["-", "a sign alone"],
  ["NaN", "NaN"],
  ["Infinity", "Infinity"],
  ["True", "upper case"],
  ["nul", "half a word"],
  ['"a\nb"', "a line end in a string"],
  ['"\t"', "a tab in a string"],
  ['"\\x41"', "an unknown escape"],
  ['"\\u12"', "half an escape"],
  ['"a', "an open string"],
  ["[]]", "one bracket too many"],
  ["[}", "brackets that do not match"],
  ["{} {}", "two documents"],
  ["// no\n1", "a comment"],
  ["/**/1", "a block comment"],
  ["\ufeff{}", "a byte order mark"],
  ["\u00a01", "a no-break space"],
  ["\f1", "a form feed"],
  ["undefined", "undefined"],
])("refuses %j: %s", (text) => {
  expect(read(text)).toEqual({ problem: expect.stringMatching(/^not JSON/) });
});

test("says where JSON ends to be JSON", () => {
  expect(read('{"a": 1,\n  "b": oops}')).toEqual({ problem: "not JSON (line 2, column 8)" });
});

test("refuses a key that is there twice, however it is spelt, and names its path", () => {
  expect(read('{"a":1,"b":[{},{"c":1,"c":2}]}')).toEqual({
    problem: "b[1].c: the key is there twice",
  });
  expect(read('{"a":1,"\\u0061":1}')).toEqual({ problem: "a: the key is there twice" });
  expect(read('{"a\\"":1,"a\\"" :1}')).toEqual({
    problem: '"a\\"": the key is there twice',
  });
});

test("refuses __proto__, also in disguise", () => {
  for (const key of ["__proto__", "\\u005f_proto__"]) {
    expect(read(`{"a":{"${key}":1}}`)).toEqual({
      problem: 'a.__proto__: "__proto__" cannot be a key',
    });
  }
});

test("looks at size and depth in the text, before anything is built from it", () => {
  expect(read(`"${"é".repeat(500)}"`)).toEqual({ problem: "larger than 0 KB" });
  expect(read("[[[[[")).toEqual({ problem: "nested deeper than 4 levels" });
  expect(read('["[[[[["]')).toEqual({ value: ["[[[[["] });
  expect(read('["\\"[[[[["]')).toEqual({ value: ['"[[[[['] });
});

test("agrees with JSON.parse about whatever has unambiguous keys", () => {
  const generous = { bytes: 1_000_000, depth: 64 };
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
      const text = JSON.stringify(value);
      if (text.includes("__proto__")) return;
      expect(parseStrictJson(text, generous)).toEqual({ value: JSON.parse(text) });
    }),
  );
});

test("never throws, whatever the text", () => {
  const texts = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.string({ unit: fc.constantFrom(...'[]{}":,\\ntrue10 '.split("")), maxLength: 60 }),
  );
  fc.assert(
    fc.property(texts, (text) => void read(text)),
    { numRuns: cases(2000) },
  );
});

test("counts values before it builds any of them", () => {
  const few = { bytes: 1_000_000, depth: 4, values: 10 };
  expect(parseStrictJson("[1,2,[3,4],{}]", few)).toEqual({ value: [1, 2, [3, 4], {}] });
  expect(parseStrictJson('["a,b,c,d,e,f,g,h,i,j,[{[{"]', few)).toHaveProperty("value");
  const more = { problem: "more than 10 values" };
  expect(parseStrictJson(`[${"1,".repeat(20)}1]`, few)).toEqual(more);
  expect(parseStrictJson(`{${"[],".repeat(20)}`, few)).toEqual(more);
});

test("takes keys for what they are, however they are written and wherever they stand", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.string(), (object, key) => {
      fc.pre(key !== "__proto__" && !JSON.stringify(object).includes("__proto__"));
      const wide = { bytes: 1_000_000, depth: 1000 };
      const text = JSON.stringify(object, null, 1);
      expect(parseStrictJson(text, wide)).toEqual({ value: JSON.parse(text) });
      const escaped = [...key].map(escapeAll).join("");
      const twice = `{${JSON.stringify(key)} \n: ${text}, "${escaped}":0}`;
      expect(parseStrictJson(twice, wide)).toMatchObject({
        problem: expect.stringContaining("the key is there twice"),
      });
    }),
  );
});

function escapeAll(character: string): string {
  const units = Array.from({ length: character.length }, (_, at) => character.charCodeAt(at));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`).join("");
}
