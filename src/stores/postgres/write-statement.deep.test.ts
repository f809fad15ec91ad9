import fc from "fast-check";
import { afterAll, beforeAll, expect, it } from "vitest";
import { cases } from "../../testing/cases.test-support.ts";
import { dropDatabase, execute, freshDatabase } from "../../testing/postgres.test-support.ts";
import { jsonText, WriteStatement } from "./write-line.ts";

let url: string;

beforeAll(async () => {
  url = await freshDatabase();
});

afterAll(() => dropDatabase(url));

/** What the database makes of rows that are written in one statement. */
async function wayThrough(rows: readonly (readonly [number, string | null])[]) {
  const statement = new WriteStatement();
  const columns = [
    ["place", "int"],
    ["body", jsonText],
  ] as const;
  statement.add("written", columns, rows, (table) => `SELECT place, body FROM ${table}`);
  const { text, values } = statement.build("written");
  const found = await execute(url, text, [...(values ?? [])]);
  return found.map((row) => [row["place"], row["body"]]);
}

it("brings texts through as they are, also those that are no JSON and hold what separates them", async () => {
  const json = fc.json();
  const other = fc.constantFrom(
    "",
    "\u001f",
    'a\u001fb"\\',
    "\\",
    "{}",
    "NULL",
    "null",
    "\u001f\u001f",
  );
  const text = fc.oneof(json, other, fc.constant(null));
  await fc.assert(
    fc.asyncProperty(fc.array(text, { minLength: 1, maxLength: 6 }), async (texts) => {
      const rows = texts.map((one, place) => [place, one] as const);
      expect(await wayThrough(rows)).toEqual(rows);
    }),
    { numRuns: cases(100) },
  );
});

it("is another statement where texts cannot be joined, so that none is prepared for the other", () => {
  const nameOf = (body: string) => {
    const statement = new WriteStatement();
    statement.add("written", [["body", jsonText]], [[body]], (table) => `SELECT * FROM ${table}`);
    return statement.build("written").name;
  };
  expect(nameOf("{}")).toBe(nameOf("[]"));
  expect(nameOf("{}")).not.toBe(nameOf("\u001f"));
});
