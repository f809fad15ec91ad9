import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { repeatBeside } from "../busy-thread.test-support.ts";
import { removeFolder } from "./remove-folder.ts";
import { makeFolder } from "./repository.test-support.ts";

test("names of any kind are removed, and links as links", async () => {
  const parent = makeFolder();
  const outside = makeFolder();
  writeFileSync(join(outside, "kept"), "");
  mkdirSync(join(parent, "one/\u00fc/\u{1f600}"), { recursive: true });
  mkdirSync(Buffer.concat([Buffer.from(join(parent, "one/")), Buffer.from([0xff, 0xfe])]));
  symlinkSync(outside, join(parent, "one/\u00fc/away"));
  mkdirSync(join(parent, "one/closed/inner"), { recursive: true });
  chmodSync(join(parent, "one/closed"), 0);
  await removeFolder(parent, "one");
  expect(readdirSync(parent)).toEqual([]);
  expect(readdirSync(outside)).toEqual(["kept"]);
});

test("no depth is too deep, also for what was begun before", async () => {
  const parent = makeFolder();
  const dig = `
process.chdir(process.argv[1]);
for (let depth = 0; depth < 400; depth++) {
  require("node:fs").mkdirSync("d".repeat(100));
  process.chdir("d".repeat(100));
}
require("node:fs").writeFileSync("f", "");`;
  for (const name of ["one", ".removing-two-0123"]) {
    mkdirSync(join(parent, name));
    execFileSync(process.execPath, ["-e", dig, join(parent, name)]);
    await removeFolder(parent, name);
  }
  expect(readdirSync(parent)).toEqual([]);
});

test("a folder that another process removes at the same moment is gone, without an error", async () => {
  const parent = makeFolder();
  const body = "attempt(() => fs.mkdirSync(place)); attempt(() => fs.rmdirSync(place));";
  await repeatBeside(body, join(parent, "one"), () => removeFolder(parent, "one"), 200);
  await removeFolder(parent, "one");
  expect(readdirSync(parent)).toEqual([]);
});
