import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cases } from "../testing/cases.test-support.ts";
import { intersectRoots, isBelow, rootsWithin } from "./write-roots.ts";

const segment = fc.constantFrom("a", "b", "ab", "..", ".", "", "a b", "é");
const path = fc.array(segment, { maxLength: 5 }).map((parts) => `/${parts.join("/")}`);
const roots = fc.array(path, { maxLength: 4 });

describe("isBelow", () => {
  it("compares segments, not letters", () => {
    expect(isBelow("/srv/app/x", "/srv/app")).toBe(true);
    expect(isBelow("/srv/app", "/srv/app")).toBe(true);
    expect(isBelow("/srv/app", "/srv/app/")).toBe(true);
    expect(isBelow("/srv/app-evil", "/srv/app")).toBe(false);
    expect(isBelow("/srv", "/srv/app")).toBe(false);
  });

  it("is not fooled by dots, and knows no relative paths", () => {
    expect(isBelow("/srv/app/../other", "/srv/app")).toBe(false);
    expect(isBelow("/srv/app/./x", "/srv/app")).toBe(true);
    for (const relative of ["", ".", "srv/app", "../srv/app"]) {
      expect(isBelow(relative, "/")).toBe(false);
      expect(isBelow("/srv", relative)).toBe(false);
    }
  });

  it("is an order: what is below what is below is below", () => {
    fc.assert(
      fc.property(path, path, path, (one, two, three) => {
        expect(isBelow(one, one)).toBe(true);
        if (isBelow(one, two) && isBelow(two, three)) expect(isBelow(one, three)).toBe(true);
        expect(isBelow(one, "/")).toBe(true);
      }),
    );
  });
});

describe("intersectRoots", () => {
  it("gives folders that both lists allow, and all of them", () => {
    fc.assert(
      fc.property(roots, roots, path, (left, right, place) => {
        const both = intersectRoots(left, right);
        expect(rootsWithin(both, left)).toBe(true);
        expect(rootsWithin(both, right)).toBe(true);
        const allows = (list: readonly string[]): boolean =>
          list.some((root) => isBelow(place, root));
        expect(allows(both)).toBe(allows(left) && allows(right));
      }),
      { numRuns: cases(2000) },
    );
  });

  it("of nothing with anything is nothing", () => {
    expect(intersectRoots([], ["/"])).toEqual([]);
    expect(intersectRoots(["/"], [])).toEqual([]);
  });
});
