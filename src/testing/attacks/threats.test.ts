import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { threats } from "./threats.test-support.ts";

const root = join(import.meta.dirname, "..", "..", "..");
const numbers = Array.from({ length: 25 }, (_, index) => index + 1);

/** What stands between the quotes where a test begins. */
function titlesIn(file: string): readonly string[] {
  const text = readFileSync(join(root, file), "utf8");
  const begins = /(?:\b(?:it|test)(?:\.\w+)*|\))\(\s*(["'`])((?:\\.|(?!\1)[^\\])*)\1/g;
  const named = /^const title = `([^`]*)`/gm;
  return [
    ...[...text.matchAll(begins)].map(([, , title = ""]) => title),
    ...[...text.matchAll(named)].map(([, title = ""]) => title),
  ];
}

const own = globSync("src/testing/attacks/*.test.ts", { cwd: root }).flatMap(titlesIn);

test.each(numbers)("threat %i has a test that carries it out", (number) => {
  const named = threats[number]?.tests ?? [];
  const numbered = own.filter((title) => title.startsWith(`attack ${number}:`));
  expect([...named, ...numbered]).not.toEqual([]);
  for (const each of named) {
    const [file = "", part = ""] = each.split(" > ");
    expect(
      titlesIn(file).filter((title) => title.includes(part)),
      each,
    ).not.toEqual([]);
  }
});

test("no test attacks in the name of a threat that there is not", () => {
  const claimed = own.flatMap((title) => /^attack (\d+):/.exec(title)?.[1] ?? []);
  expect(claimed.length).toBeGreaterThan(10);
  expect(claimed.filter((number) => threats[Number(number)] === undefined)).toEqual([]);
});
