import fc from "fast-check";
import { expect, test } from "vitest";
import { cases } from "../testing/cases.test-support.ts";
import { parseJson } from "./parse-json.ts";

/** What has to be read first for V8 to take other keys for these. */
const misleading = ['{"a":0,"\\\\":0}', '{"a":0,"b\\\\":0}', '{"a":0,"\\\\":{"\\\\":0}}'];

test("an escaped key is what it says, whatever was read before", () => {
  for (const text of misleading) JSON.parse(text);
  for (const key of ["\n", '"', "\u0000", "\ud800", "b\n", "\\"]) {
    const value = { a: 1, [key]: { [key]: [key, { a: 2, [key]: 3 }] } };
    expect(parseJson(JSON.stringify(value))).toStrictEqual(value);
    expect(JSON.stringify(parseJson(JSON.stringify(value)))).toBe(JSON.stringify(value));
  }
  expect(parseJson('{"a":1,"\\u0041":2}')).toStrictEqual({ a: 1, A: 2 });
});

test("everything else is as the language reads it", () => {
  const key = fc.oneof(
    fc.constantFrom("\\", "\n", '"', "__proto__", "1", "a", "", "\u2028", "\ud800"),
    fc.string({ unit: "binary", maxLength: 3 }),
  );
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: "small" },
      fc.constantFrom(null, true, -0, 1e21, 0.5, "", '{"a":', "\\"),
      fc.string({ unit: "binary" }),
      fc.array(tie("value"), { maxLength: 3 }),
      fc
        .array(fc.tuple(key, tie("value")), { maxLength: 3 })
        .map((each) => Object.fromEntries(each)),
    ),
  }));
  fc.assert(
    fc.property(value, fc.constantFrom(undefined, 2), (data, indent) => {
      const text = JSON.stringify(data, null, indent);
      expect(JSON.stringify(parseJson(text), null, indent)).toBe(text);
    }),
    { numRuns: cases(2000) },
  );
});

test("what is no JSON is refused as ever", () => {
  for (const text of ["", "{", '{"a\\n":}', '{"a\\n":1,}', '"\\x"', "[1 2]"]) {
    expect(() => parseJson(text)).toThrow(SyntaxError);
  }
});

test("depth and size cost no more than time", () => {
  const deep = `${'{"\\n":['.repeat(20_000)}${"]}".repeat(20_000)}`;
  expect(() => parseJson(deep)).not.toThrow();
  const many = JSON.stringify(
    Object.fromEntries(Array.from({ length: 20_000 }, (_, at) => [`\n${at}`, '\\"'])),
  );
  expect(Object.keys(parseJson(many) as object)).toHaveLength(20_000);
});
