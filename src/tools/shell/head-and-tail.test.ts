import fc from "fast-check";
import { expect, test } from "vitest";
import { HeadAndTail } from "./head-and-tail.ts";

test("whatever the pieces, the beginning, the end and the number in between are right", () => {
  const pieces = fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 30 });
  fc.assert(
    fc.property(pieces, fc.integer({ min: 1, max: 50 }), fc.integer({ min: 1, max: 50 }), check),
  );
});

function check(pieces: readonly Uint8Array[], head: number, tail: number): void {
  const kept = new HeadAndTail(head, tail);
  for (const piece of pieces) kept.push(Buffer.from(piece));
  const all = Buffer.concat(pieces);
  expect(kept.bytes).toBe(all.length);
  expect(kept.head).toEqual(all.subarray(0, head));
  const rest = all.subarray(head);
  expect(kept.tail).toEqual(rest.subarray(Math.max(0, rest.length - tail)));
  expect(kept.leftOut).toBe(Math.max(0, rest.length - tail));
}

test("a million small pieces cost no more than what is kept", () => {
  const kept = new HeadAndTail(1000, 1000);
  for (let count = 0; count < 1_000_000; count++) kept.push(Buffer.from("x"));
  expect(kept.bytes).toBe(1_000_000);
  expect(kept.head.length + kept.tail.length).toBe(2000);
});
