import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { encodeCursor, limitOf, pageOf, pageQuery, readCursor } from "./paging.ts";

const query = z.strictObject(pageQuery);
const position = z.int().min(0);

describe("a page", () => {
  it("is followed by the next one until everything was shown, once", () => {
    const all = Array.from({ length: 23 }, (_, index) => index + 1);
    const seen: number[] = [];
    let cursor: string | null = null;
    do {
      const asked = query.parse({ limit: "5", ...(cursor !== null && { cursor }) });
      const after = readCursor("numbers", asked, position) ?? 0;
      const found = all.filter((one) => one > after).slice(0, limitOf(asked) + 1);
      const page = pageOf("numbers", found, asked, (one) => one);
      seen.push(...page.items);
      cursor = page.nextCursor;
    } while (cursor !== null);
    expect(seen).toEqual(all);
  });

  it("has 1 to 200 items, 50 unless said", () => {
    expect(limitOf(query.parse({}))).toBe(50);
    expect(limitOf(query.parse({ limit: "200" }))).toBe(200);
    for (const limit of ["0", "201", "-1", "1.5", "", " 5", "1e2", "0x5", "NaN", "9999"]) {
      expect([limit, query.safeParse({ limit }).success]).toEqual([limit, false]);
    }
  });

  it("is not begun at a cursor of another list, of another shape, or that nobody gave", () => {
    const good = encodeCursor("numbers", 5);
    expect(readCursor("numbers", { cursor: good }, position)).toBe(5);
    for (const cursor of [
      encodeCursor("others", 5),
      encodeCursor("numbers", "5"),
      encodeCursor("numbers", -1),
      Buffer.from('["numbers",5,6]').toString("base64url"),
      Buffer.from('["numbers"]').toString("base64url"),
      Buffer.from("5").toString("base64url"),
      `${good}=`,
      `${good}!`,
      good.slice(0, -2),
      "",
      "%00",
      "__proto__",
    ]) {
      expect(() => readCursor("numbers", { cursor }, position), cursor).toThrow(
        /"cursor" is not a cursor/,
      );
    }
  });

  it("finds any place again, and refuses any text that is none", () => {
    fc.assert(
      fc.property(fc.string(), fc.oneof(fc.string(), fc.nat()), (list, place) => {
        const cursor = encodeCursor(list, place);
        expect(readCursor(list, { cursor }, z.union([z.string(), z.number()]))).toBe(place);
      }),
    );
    fc.assert(
      fc.property(fc.string(), (cursor) => {
        expect(() => readCursor("numbers", { cursor }, position)).toThrow(/cursor/);
      }),
    );
  });
});
