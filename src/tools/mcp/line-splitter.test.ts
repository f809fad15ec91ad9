import fc from "fast-check";
import { expect, it } from "vitest";
import { LineSplitter } from "./server-process.ts";

it("gives the same lines however the bytes arrive", () => {
  const lines = fc.array(fc.string({ unit: "grapheme" }).map((line) => line.replaceAll("\n", "")));
  fc.assert(
    fc.property(lines, fc.array(fc.integer({ min: 1, max: 7 })), (sent, sizes) => {
      const bytes = Buffer.from(sent.map((line) => `${line}\n`).join(""));
      const splitter = new LineSplitter(1000);
      const got: string[] = [];
      for (let at = 0, turn = 0; at < bytes.length; turn++) {
        const size = sizes[turn % Math.max(1, sizes.length)] ?? 3;
        for (const line of splitter.push(bytes.subarray(at, at + size)) ?? []) {
          got.push(line.toString("utf8"));
        }
        at += size;
      }
      expect(got).toEqual(sent);
    }),
  );
});

it("gives up on a line that is too long, in one piece or in many", () => {
  expect(new LineSplitter(4).push(Buffer.from("12345\n"))).toBe(null);
  const splitter = new LineSplitter(4);
  expect(splitter.push(Buffer.from("1234\n12"))?.map(String)).toEqual(["1234"]);
  expect(splitter.push(Buffer.from("345"))).toBe(null);
});
