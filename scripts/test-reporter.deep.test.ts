import { spawnSync } from "node:child_process";
import { symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { childEnvironment } from "../src/testing/child-environment.test-support.ts";
import { testFolder } from "../src/testing/test-folder.test-support.ts";

const root = join(import.meta.dirname, "..");

/** What a run of these files prints into a log. */
function logOf(
  files: Readonly<Record<string, string>>,
  environment: NodeJS.ProcessEnv = {},
): { readonly code: number | null; readonly log: string } {
  const folder = testFolder();
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  const reporter = JSON.stringify(join(root, "scripts/test-reporter.ts"));
  writeFileSync(
    join(folder, "vitest.config.ts"),
    `import { OneLinePerFile } from ${reporter};
     export default { test: { reporters: [new OneLinePerFile()] } };`,
  );
  for (const [name, text] of Object.entries(files)) {
    writeFileSync(join(folder, name), `import { expect, it } from "vitest";\n${text}`);
  }
  const program = join(root, "node_modules/vitest/vitest.mjs");
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, "run"], {
    cwd: folder,
    encoding: "utf8",
    env: { ...childEnvironment, ...environment },
  });
  return { code: status, log: stdout + stderr };
}

const failing = {
  "good.test.ts": 'it("holds", () => expect(1).toBe(1));\nit.skip("needs a disk", () => {});',
  "bad.test.ts": 'it("breaks", () => expect({ a: 1 }).toEqual({ a: 2 }));',
  "broken.test.ts": 'throw new Error("cannot be loaded");',
  "loose.test.ts":
    'it("ends", async () => {\n  setTimeout(() => { throw new Error("too late"); }, 1);\n  await new Promise((resolve) => setTimeout(resolve, 30));\n});',
};

test("a failing run ends with the names of what failed and why, in plain text", () => {
  const { code, log } = logOf(failing, { TERM: "xterm-256color" });
  expect(code).toBe(1);
  expect(log).not.toContain("\u001b");
  expect(log).toMatch(/^ ✓ good\.test\.ts \(2 tests \| 1 skipped\)/m);
  expect(log).toContain("Skipped:\n  good.test.ts (1): needs a disk\nFailed:\n");
  const [, failed = ""] = log.split("Failed:\n");
  expect(failed.split("\n").slice(0, 3).toSorted()).toEqual([
    "  bad.test.ts > breaks: expected { a: 1 } to deeply equal { a: 2 }",
    "  broken.test.ts (outside its tests): cannot be loaded",
    "  outside of every test: too late",
  ]);
});

test("colours are there where they are asked for", () => {
  expect(logOf(failing, { FORCE_COLOR: "1" }).log).toContain("\u001b[");
});
