import {
  appendFileSync,
  chmodSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { SaidFile } from "./said-file.ts";

let home: string;
let path: string;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "mandate-said-"));
  path = join(home, "chat-history");
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

test("What was said in one chat is there in the next, and only its owner can read it", () => {
  expect(new SaidFile(home).read()).toEqual([]);
  const file = new SaidFile(home);
  for (const text of ["one", "two\nlines"]) file.add(text);
  expect(new SaidFile(home).read()).toEqual(["one", "two\nlines"]);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  chmodSync(path, 0o644);
  new SaidFile(home).read();
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

test("A broken line is left out, a link is not followed, and the file has a largest size", () => {
  const file = new SaidFile(home);
  file.add("whole");
  appendFileSync(path, '"cut\n[1]\n"also whole"\n');
  expect(file.read()).toEqual(["whole", "also whole"]);
  for (let place = 0; place < 1200; place += 1) file.add(`text ${place}`);
  expect(file.read()).toHaveLength(500);
  expect(readFileSync(path, "utf8").split("\n").length).toBeLessThan(600);
  rmSync(path);
  const other = join(home, "other");
  writeFileSync(other, "");
  symlinkSync(other, path);
  file.add("secret");
  expect(file.read()).toEqual([]);
  expect(readFileSync(other, "utf8")).toBe("");
});
