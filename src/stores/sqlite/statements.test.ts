import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

test("no statement numbers its values, which the oldest supported Node does not bind", () => {
  const folder = import.meta.dirname;
  const files = globSync("**/*.ts", { cwd: join(folder, "..") }).filter(
    (file) => !file.includes("postgres") && !file.includes(".test"),
  );
  expect(files.length).toBeGreaterThan(20);
  const numbered = files.filter((file) =>
    /["`][^"`]*\b(?:SELECT|INSERT|UPDATE|DELETE)\b[^"`]*\?\d/.test(
      readFileSync(join(folder, "..", file), "utf8"),
    ),
  );
  expect(numbered).toEqual([]);
});
