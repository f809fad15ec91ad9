import assert from "node:assert/strict";
import fc from "fast-check";
import { it } from "vitest";
import { cases } from "../../../testing/cases.test-support.ts";
import { type AboutEntry, type Entry, FrameRing } from "./sse-ring.ts";

const entryOf = (id: number, size: number): Entry => ({
  id,
  runId: id % 3 === 0 ? "odd" : "usual",
  delegationId: undefined,
  type: "t",
  owner: "local",
  frame: Buffer.from(`<${id}>`.padEnd(size, ".")),
});

it("gives every place that it still has the rest of what was pushed, and no other", () => {
  const pushes = fc.array(fc.array(fc.integer({ min: 6, max: 90_000 }), { maxLength: 6 }), {
    maxLength: 12,
  });
  fc.assert(
    fc.property(pushes, fc.integer({ min: 1, max: 300_000 }), (sizes, capacity) => {
      const ring = new FrameRing(capacity);
      ring.reset(10);
      const all: Entry[] = [];
      for (const group of sizes) {
        const entries = group.map((size, index) => entryOf(11 + all.length + index, size));
        // Some are told twice.
        ring.push([...all.slice(-1), ...entries]);
        all.push(...entries);
      }
      const last = all.at(-1)?.id ?? 10;
      const floor = ring.floor ?? 0;
      assert.equal(ring.last, last);
      const kept = all.filter(({ id }) => id > floor);
      const size = kept.reduce((sum, { frame }) => sum + frame.length, 0);
      assert.ok(size <= capacity);
      for (let place = 10; place <= last; place++) {
        const rest = all.filter(({ id }) => id > place);
        if (place < floor) {
          assert.equal(ring.chunkAfter(place, null), undefined);
          assert.equal(ring.bytesAfter(place), Number.POSITIVE_INFINITY);
          continue;
        }
        assert.equal(
          ring.bytesAfter(place),
          rest.reduce((sum, { frame }) => sum + frame.length, 0),
        );
        for (const wants of [null, ({ runId }: AboutEntry) => runId === "odd"]) {
          const wanted = wants === null ? rest : rest.filter(wants);
          const told = drain(ring, place, wants);
          assert.ok(told.equals(Buffer.concat(wanted.map(({ frame }) => frame))));
        }
      }
    }),
    { numRuns: cases(150) },
  );
});

function drain(
  ring: FrameRing,
  from: number,
  wants: ((entry: AboutEntry) => boolean) | null,
): Buffer {
  const parts: Buffer[] = [];
  for (let place = from; ; ) {
    const chunk = ring.chunkAfter(place, wants);
    assert.ok(chunk !== undefined);
    if (chunk.wanted) {
      parts.push(chunk.wanted.bytes);
      assert.ok(chunk.wanted.lastId <= chunk.to);
    }
    if (chunk.to === place) return Buffer.concat(parts);
    place = chunk.to;
  }
}

it("holds no memory but that of what it keeps, however small its pieces are", () => {
  const ring = new FrameRing(100_000);
  ring.reset(0);
  for (let id = 1; id <= 500; id += 1) ring.push([entryOf(id, 200)]);
  const held = new Set<ArrayBufferLike>();
  for (let id = ring.floor ?? 0; id < 500; id += 1) {
    const bytes = ring.chunkAfter(id, null)?.wanted?.bytes;
    if (bytes) held.add(bytes.buffer);
  }
  const sum = [...held].reduce((size, { byteLength }) => size + byteLength, 0);
  assert.ok(sum <= 100_000, `${sum} bytes are held`);
});
