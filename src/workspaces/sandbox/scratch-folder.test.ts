import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, symlinkSync, utimesSync } from "node:fs";
import { chmod } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { testFolder } from "../../testing/test-folder.test-support.ts";
import {
  createScratchFolder,
  removeScratchFolder,
  removeStaleScratchFolders,
} from "./scratch-folder.ts";

let temporary: string;

beforeEach(() => {
  temporary = testFolder();
  vi.stubEnv("TMPDIR", temporary);
});

afterEach(() => void vi.unstubAllEnvs());

test("it is removed whole, and nothing that a link in it leads to", async () => {
  const outside = join(temporary, "outside");
  mkdirSync(outside);
  const folder = createScratchFolder();
  symlinkSync(outside, join(folder, "tmp/link"));
  mkdirSync(join(folder, "tmp/closed/inner"), { recursive: true });
  await chmod(join(folder, "tmp/closed"), 0);
  await removeScratchFolder(folder);
  expect(readdirSync(temporary)).toEqual(["outside"]);
});

test("what killed processes left is removed after a day, and nothing of the living", async () => {
  const gone = spawnSync("true").pid;
  const old = join(temporary, `mandate-shell-${gone}-abc`);
  const fresh = join(temporary, `mandate-shell-${gone}-def`);
  const other = join(temporary, "mandate-shell-notes");
  for (const folder of [old, fresh, other]) mkdirSync(folder);
  const living = createScratchFolder();
  for (const folder of [old, other, living]) utimesSync(folder, 0, 0);
  await removeStaleScratchFolders(Date.now());
  expect([old, fresh, other, living].map((folder) => existsSync(folder))).toEqual([
    ...[false, true, true, true],
  ]);
});
