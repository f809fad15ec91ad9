import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { faults, providerFaults } from "./faults.test-support.ts";

const root = join(import.meta.dirname, "..", "..", "..");
const numbers = Array.from({ length: 20 }, (_, index) => index + 1);

/** What stands between the quotes where a test begins. */
function titlesIn(text: string): readonly string[] {
  const begins = /(?:\b(?:it|test)(?:\.\w+)*|\))\(\s*(["'`])((?:\\.|(?!\1)[^\\])*)\1/g;
  return [...text.matchAll(begins)].map(([, , title = ""]) => title);
}

const read = (file: string): string => readFileSync(join(root, file), "utf8");
const own = globSync("src/testing/faults/*.test.ts", { cwd: root }).map(read);
const titles = own.flatMap(titlesIn);

test.each(numbers)(
  "fault %i has a whole test here, and every test that is named for it",
  (number) => {
    expect(titles.filter((title) => title.startsWith(`fault ${number}:`))).not.toEqual([]);
    for (const each of faults[number]?.tests ?? [`${number} is not listed`]) {
      const [file = "", part = ""] = each.split(" > ");
      const found = titlesIn(read(file)).filter((title) => title.includes(part));
      expect(found, each).not.toEqual([]);
    }
  },
);

test.each(providerFaults)("there is a test of a provider's fault: %s", (fault) => {
  // A fault of a table stands in its row.
  const text = own.filter((each) => each.includes("provider fault:")).join("\n");
  expect(text.includes(fault), fault).toBe(true);
});

test("no test is about a fault that there is not", () => {
  const claimed = titles.flatMap((title) => /^fault (\d+):/.exec(title)?.[1] ?? []);
  expect(claimed.length).toBeGreaterThan(20);
  expect(claimed.filter((number) => faults[Number(number)] === undefined)).toEqual([]);
});
