import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { testFolder } from "../src/testing/test-folder.test-support.ts";

/** What the check says of a source tree with this one file in it. */
function check(file: string, text: string): { code: number | null; said: string } {
  const folder = testFolder();
  mkdirSync(dirname(join(folder, file)), { recursive: true });
  writeFileSync(join(folder, file), text);
  const script = join(import.meta.dirname, "check-imports.mjs");
  const { status, stdout } = spawnSync(process.execPath, [script, folder], { encoding: "utf8" });
  return { code: status, said: stdout };
}

test("a stage may import the stages above it, and ports", () => {
  const text = `import { a } from "../contracts/a.ts";\nimport { b } from "../ports/b.ts";\n`;
  expect(check("src/events/x.ts", text)).toEqual({ code: 0, said: "" });
});

test("a stage may not import a stage below it, and is told what it may import", () => {
  const { code, said } = check("src/contracts/x.ts", `import {\n  a,\n} from "../tools/a.ts";\n`);
  expect(code).toBe(1);
  expect(said).toBe(
    "src/contracts/x.ts imports ../tools/a.ts: contracts comes before tools. It may import ports.\n",
  );
});

test.each([
  [`export { a } from "../surfaces/cli/a.ts";`],
  [`const a = await import("../surfaces/cli/a.ts");`],
])("nothing imports a surface: %s", (text) => {
  expect(check("src/delegations/x.ts", text).said).toContain("nothing imports a surface");
});

test("a surface knows the runtime and events, not the stages", () => {
  const { said } = check("src/surfaces/cli/x.ts", `import { a } from "../../delegations/a.ts";`);
  expect(said).toContain("src/surfaces/cli/x.ts imports ../../delegations/a.ts");
});

test.each([
  [`import type { A } from "../events/a.ts";`, ""],
  [`import { type A, type B } from "../events/a.ts";`, ""],
  [`import { a, type B } from "../events/a.ts";`, "may use only types of events"],
])("ports use only types of the first stages: %s", (text, said) => {
  const result = check("src/ports/x.ts", text);
  expect(result.said).toContain(said);
  expect(result.code).toBe(said === "" ? 0 : 1);
});

test("a folder that the table does not know is pointed out", () => {
  expect(check("src/misc/x.ts", `import { a } from "../ports/a.ts";`).said).toContain(
    "does not know",
  );
});
