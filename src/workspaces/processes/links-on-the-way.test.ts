import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { testFolder } from "../../testing/test-folder.test-support.ts";
import { linksOnTheWay } from "./find-program.ts";

let root: string;

beforeEach(() => {
  root = testFolder();
});

test("every link is named, of folders and of the file, through however many others", () => {
  mkdirSync(join(root, "real/bin"), { recursive: true });
  writeFileSync(join(root, "real/bin/tool"), "");
  symlinkSync("tool", join(root, "real/bin/alias"));
  symlinkSync(join(root, "real"), join(root, "second"));
  symlinkSync("second", join(root, "first"));
  const passed = ["first", "second", "real/bin/alias"].map((name) => join(root, name));
  expect(linksOnTheWay(join(root, "first/bin/alias"))).toEqual(passed);
  expect(linksOnTheWay(join(root, "real/bin/tool"))).toEqual([]);
});

test("a circle and a link to nothing end", () => {
  symlinkSync("other", join(root, "one"));
  symlinkSync("one", join(root, "other"));
  symlinkSync("nowhere", join(root, "lost"));
  expect(linksOnTheWay(join(root, "one/x"))).toEqual(["one", "other"].map((n) => join(root, n)));
  expect(linksOnTheWay(join(root, "lost"))).toEqual([join(root, "lost")]);
});
