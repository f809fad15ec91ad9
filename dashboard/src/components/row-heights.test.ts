import fc from "fast-check";
import { expect, it } from "vitest";
import { RowHeights } from "./row-heights.ts";

const count = 200;
const expandedRows = fc
  .uniqueArray(fc.record({ index: fc.nat(count - 1), height: fc.nat(500) }), {
    maxLength: 10,
    selector: ({ index }) => index,
  })
  .map((rows) => rows.sort((one, other) => one.index - other.index));

it("finds the row at a distance from the top, whatever is expanded", () => {
  fc.assert(
    fc.property(expandedRows, fc.nat(20_000), (expanded, top) => {
      const heights = new RowHeights(34, expanded);
      const index = heights.indexAt(top);
      expect(heights.topOf(index)).toBeLessThanOrEqual(top);
      expect(heights.topOf(index + 1)).toBeGreaterThan(top);
    }),
  );
});

it("is as high as its rows and what is below them", () => {
  fc.assert(
    fc.property(expandedRows, (expanded) => {
      const extra = expanded.reduce((sum, { height }) => sum + height, 0);
      expect(new RowHeights(34, expanded).topOf(count)).toBe(count * 34 + extra);
    }),
  );
});
