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
  const script = join(import.meta.dirname, "check-processes.mjs");
  const { status, stdout } = spawnSync(process.execPath, [script, folder], { encoding: "utf8" });
  return { code: status, said: stdout };
}

test.each([
  ['import { spawn } from "node:child_process";'],
  ["import * as processes from 'child_process';"],
  ['const { exec } = await import("node:child_process");'],
  ['const { fork } = require("child_process");'],
  ['export { spawn } from "node:child_process";'],
  ['import cluster from "node:cluster";'],
  ['process.binding("spawn_sync");'],
  ['process["dlopen"](module, file);'],
  ['process.execve("/bin/sh", [], {});'],
  ['process.getBuiltinModule("node:child_" + "process");'],
  ["new Worker(text, { eval: true });"],
])("code that starts a process elsewhere fails: %s", (text) => {
  const { code, said } = check("src/tools/x.ts", text);
  expect(code).toBe(1);
  expect(said).toContain("src/tools/x.ts ");
  expect(said).toContain("only src/workspaces/processes/start-program.ts starts processes");
});

test.each([
  ["src/workspaces/processes/start-program.ts", 'import { spawn } from "node:child_process";'],
  ["src/tools/x.test.ts", 'import { spawn } from "node:child_process";'],
  ["src/tools/x.test-support.ts", 'import { spawn } from "node:child_process";'],
  ["src/tools/x.ts", 'import type { ChildProcess } from "node:child_process";'],
  ["src/watchdog.ts", "const thread = new Worker(program, { workerData });"],
])("the one place, tests and types are allowed: %s", (file, text) => {
  expect(check(file, text)).toEqual({ code: 0, said: "" });
});
