import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { drawnBars, ticksOf } from "./drawn-bars.ts";
import type { Bar } from "./gantt-fold.ts";
import { moveSpan, zoomSpan } from "./zoom.ts";

const row = (lengths: readonly number[]): Bar[] => {
  let from = 0;
  return lengths.map((length, index) => {
    const bar: Bar = { kind: index % 2 ? "tool" : "model", from, to: from + length, detail: null };
    from += length;
    return bar;
  });
};

describe("drawnBars", () => {
  it("never draws more bars than there are pixels, or outside of the window", () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1, maxLength: 2000 }),
        fc.integer({ min: 0, max: 10_000 }),
        fc.integer({ min: 1, max: 20_000 }),
        (lengths, from, length) => {
          const window = { from, to: from + length, width: 300 };
          const drawn = drawnBars(row(lengths), window, Number.MAX_SAFE_INTEGER);
          expect(drawn.length).toBeLessThanOrEqual(303);
          for (const { width, x } of drawn) {
            expect(x).toBeGreaterThanOrEqual(0);
            expect(x + width).toBeLessThanOrEqual(301);
          }
        },
      ),
    );
  });

  it("cuts at the moment that is shown", () => {
    const drawn = drawnBars(row([100, 100]), { from: 0, to: 200, width: 200 }, 150);
    expect(drawn.map(({ width, x }) => [x, width])).toEqual([
      [0, 100],
      [100, 50],
    ]);
  });

  it("has round ticks that do not crowd", () => {
    expect(ticksOf({ from: 1000, to: 11_000, width: 800 }, 1000)).toEqual(
      [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10].map((second) => 1000 + second * 1000),
    );
    expect(ticksOf({ from: 0, to: 3_600_000, width: 320 }, 0)).toEqual([0, 1_800_000, 3_600_000]);
  });
});

describe("zoomSpan", () => {
  const whole = { from: 0, to: 1000 };

  it("keeps the point under the hand where it is, and stays within the whole", () => {
    expect(zoomSpan(whole, 2, 250, whole)).toEqual({ from: 125, to: 625 });
    expect(zoomSpan({ from: 125, to: 625 }, 0.1, 250, whole)).toBe(whole);
    expect(moveSpan({ from: 125, to: 625 }, 900, whole)).toEqual({ from: 500, to: 1000 });
    expect(moveSpan({ from: 125, to: 625 }, -900, whole)).toEqual({ from: 0, to: 500 });
  });
});
