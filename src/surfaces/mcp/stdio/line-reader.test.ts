import fc from "fast-check";
import { expect, test } from "vitest";
import { LineReader, tooLong } from "./line-transport.ts";

test("Lines come out as they went in, wherever the pipe cuts them, and no longer than they may be", () => {
  const line = fc.uint8Array({ maxLength: 40 }).map((bytes) => bytes.filter((one) => one !== 10));
  fc.assert(
    fc.property(
      fc.array(line),
      fc.array(fc.nat(60)),
      fc.integer({ min: 1, max: 30 }),
      (lines, cuts, most) => {
        const whole = Buffer.concat(lines.map((one) => Buffer.from([...one, 10])));
        const places = [0, ...cuts.map((cut) => Math.min(cut, whole.length)), whole.length].sort(
          (one, other) => one - other,
        );
        const found: (readonly number[] | "too long")[] = [];
        const reader = new LineReader(most, (one) =>
          found.push(one === tooLong ? "too long" : [...one]),
        );
        for (const [index, place] of places.entries()) {
          reader.push(whole.subarray(places[index - 1] ?? 0, place));
        }
        expect(found).toEqual(lines.map((one) => (one.length > most ? "too long" : [...one])));
      },
    ),
  );
});
