import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cases } from "../testing/cases.test-support.ts";
import { maximumRecordBytes, maximumRecordDepth, recordText } from "./record-change.ts";

const textOf = (value: unknown): string => recordText("policy/a", value);

/** Whatever a program may hand over, JSON or not. */
const anything = fc.anything({
  withBigInt: true,
  withDate: true,
  withMap: true,
  withNullPrototype: true,
  withSparseArray: true,
  withTypedArray: true,
});

describe("the text of a record's value", () => {
  it("is that of JSON, with every key in it as data", () => {
    fc.assert(
      fc.property(fc.jsonValue({ depthSize: "large" }), (value) => {
        expect(textOf(value)).toBe(JSON.stringify(value));
      }),
    );
    const odd = '{"__proto__":{"admin":true},"constructor":{"prototype":[]},"toString":1}';
    expect(textOf(JSON.parse(odd))).toBe(odd);
    expect(textOf(Object.assign(Object.create(null), { a: 1 }))).toBe('{"a":1}');
  });

  it("reads back as what was given, or there is none", () => {
    fc.assert(
      fc.property(anything, (value) => {
        let text: string;
        try {
          text = textOf(value);
        } catch (error) {
          expect(error).toMatchObject({ code: "usage" });
          return;
        }
        // Apart from fields without a value and the sign of zero, which JSON does not know.
        expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)));
        expect(JSON.stringify(JSON.parse(text))).toBe(text);
      }),
      { numRuns: cases(1000) },
    );
  });

  it("says where the value is no JSON", () => {
    expect(() => textOf({ agents: [{}, { id: new Date() }] })).toThrow(/policy\/a.*agents\.1\.id/);
    expect(() => textOf({ a: [1, Number.NaN] })).toThrow(/NaN at a\.1/);
  });

  it("is refused when it is too large or too deep, before it is made", () => {
    const huge = "x".repeat(64 * 1024 * 1024);
    expect(() => textOf([huge, huge, huge, huge])).toThrow(/larger than 256 KB/);
    let deep: unknown = 1;
    for (let level = 0; level < 1_000_000; level++) deep = [deep];
    expect(() => textOf(deep)).toThrow(/deeper than 64/);
    const itself: unknown[] = [];
    itself.push(itself, itself);
    expect(() => textOf(itself)).toThrow(/deeper than 64/);
    expect(() => textOf("\u0001".repeat(maximumRecordBytes / 2))).toThrow(/larger/);
    expect(maximumRecordDepth).toBe(64);
  });
});
