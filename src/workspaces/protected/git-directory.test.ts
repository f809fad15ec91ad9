import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { testFolder } from "../../testing/test-folder.test-support.ts";
import { gitDirectoryAround } from "./protection.ts";

let root: string;

beforeEach(() => {
  root = testFolder();
});

function write(...paths: string[]): void {
  for (const path of paths) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), "");
  }
}

const around = (...paths: string[]) =>
  gitDirectoryAround(
    root,
    paths.map((path) => join(root, path)),
  );

/** Every order in which the parts can be written. */
function ordersOf<Value>(values: readonly Value[]): readonly (readonly Value[])[] {
  if (values.length < 2) return [values];
  return values.flatMap((value, index) =>
    ordersOf(values.filter((_, at) => at !== index)).map((rest) => [value, ...rest]),
  );
}

test("the file that makes a repository of a folder is found, whatever comes first", () => {
  for (const [number, parts] of [
    ...ordersOf(["HEAD", "config", "objects/x", "refs/heads/y"]),
    ...ordersOf(["HEAD", "config", "commondir"]),
  ].entries()) {
    for (const folder of ["", `${number}/`, `a/b/c/d/${number}/`]) {
      const needed = parts.filter((part) => part !== "config");
      const last = needed.at(-1) ?? "";
      for (const part of parts.slice(0, parts.indexOf(last))) {
        expect(around(`${folder}${part}`)).toBeUndefined();
        write(`${folder}${part}`);
      }
      expect(around(`${folder}${last}`)).toBe(resolve(root, folder));
      rmSync(root, { recursive: true });
      mkdirSync(root);
    }
  }
});

test("files that arrive together are judged together", () => {
  expect(around("x/HEAD", "x/objects/a", "x/refs/a")).toBe(join(root, "x"));
  expect(around("x/HEAD", "y/objects/a", "z/refs/a")).toBeUndefined();
});

test("every path in a repository belongs to it", () => {
  write("fixtures/a.git/HEAD", "fixtures/a.git/objects/x", "fixtures/a.git/refs/x");
  expect(around("fixtures/a.git/hooks/post-checkout")).toBe(join(root, "fixtures/a.git"));
  expect(around("fixtures/b.txt")).toBeUndefined();
});

test("folders that have a part of it are ordinary folders", () => {
  write("HEAD.md", "a/HEAD", "a/objects/x", "b/objects/x", "b/refs/x", "c/HEAD/x");
  for (const path of ["a/config", "b/config", "a/hooks/x", "HEAD", "b/HEAD/x", "c/refs/x"]) {
    expect(around(path), path).toBeUndefined();
  }
});
