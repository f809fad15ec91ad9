import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { testFolder } from "../testing/test-folder.test-support.ts";
import { bindWorkspace } from "./bind-workspace.ts";
import { replaceFile } from "./replace-file.ts";
import { PathDenied } from "./resolve-inside.ts";

let root: string;

beforeEach(() => {
  root = testFolder();
});

function write(path: string, content = "new", writeRoots?: readonly string[]) {
  const limits = writeRoots === undefined ? {} : { writeRoots };
  const binding = bindWorkspace({ root, isolation: "shared", allowWrites: true, ...limits });
  return replaceFile(binding, path, Buffer.from(content));
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

test("it creates folders on the way and reports the hash after", async () => {
  const result = await write("a/b/c.txt", "hello");
  expect(result).toEqual({ path: "a/b/c.txt", before: null, after: sha256("hello") });
  expect(readFileSync(join(root, "a/b/c.txt"), "utf8")).toBe("hello");
});

test("it replaces content, keeps the mode, and leaves no other file behind", async () => {
  writeFileSync(join(root, "run.sh"), "old");
  chmodSync(join(root, "run.sh"), 0o755);
  const result = await write("run.sh");
  expect(result).toEqual({ path: "run.sh", before: sha256("old"), after: sha256("new") });
  expect(statSync(join(root, "run.sh")).mode & 0o777).toBe(0o755);
  expect(readdirSync(root)).toEqual(["run.sh"]);
});

test("the same content again does not touch the file", async () => {
  await write("a.txt");
  const { ino } = statSync(join(root, "a.txt"));
  const again = await write("a.txt");
  expect(again.before).toBe(again.after);
  expect(statSync(join(root, "a.txt")).ino).toBe(ino);
});

test("an abort before the swap leaves the old content and no temporary file", async () => {
  writeFileSync(join(root, "a.txt"), "old");
  const binding = bindWorkspace({ root, isolation: "shared", allowWrites: true });
  const signal = AbortSignal.abort();
  await expect(replaceFile(binding, "a.txt", Buffer.from("x"), { signal })).rejects.toThrow();
  await expect(replaceFile(binding, "new.txt", Buffer.from("x"), { signal })).rejects.toThrow();
  expect(readFileSync(join(root, "a.txt"), "utf8")).toBe("old");
  expect(readdirSync(root)).toEqual(["a.txt"]);
});

test("a folder in place of the file is an error of the file system", async () => {
  mkdirSync(join(root, "folder"));
  await expect(write("folder")).rejects.toMatchObject({ code: "EISDIR" });
  await expect(write(".")).rejects.toMatchObject({ code: "EISDIR" });
});

test("a pipe in place of the file is denied without waiting for its other end", async () => {
  execFileSync("mkfifo", [join(root, "pipe")]);
  await expect(write("pipe")).rejects.toMatchObject({ rule: "path_not_regular" });
});

test("write roots are kept, and the folders above one are created when it is missing", async () => {
  await expect(write("other.txt", "x", ["out/deep"])).rejects.toMatchObject({
    rule: "path_outside_write_roots",
  });
  await expect(write("out/x.txt", "x", ["out/deep"])).rejects.toThrow(PathDenied);
  expect(existsSync(join(root, "out"))).toBe(false);
  await write("out/deep/er/x.txt", "x", ["out/deep"]);
  expect(existsSync(join(root, "out/deep/er/x.txt"))).toBe(true);
});

test("a link inside cannot be used to leave a write root", async () => {
  mkdirSync(join(root, "out"));
  mkdirSync(join(root, "src"));
  symlinkSync("../src", join(root, "out/src"));
  await expect(write("out/src/x.txt", "x", ["out"])).rejects.toMatchObject({
    rule: "path_outside_write_roots",
  });
});

test.each([
  ".git/hooks/pre-commit",
  "sub/.git/config",
  ".GIT/config",
  "mandate.yaml",
  "sub/Mandate.yaml",
  ".mandate/agents/general.md",
  "profiles/coder.md",
])("%s steers other programs and is not written, even where it did not exist", async (path) => {
  await expect(write(path)).rejects.toMatchObject({ rule: "path_protected" });
  expect(readdirSync(root)).toEqual([]);
});

test("a read-only workspace refuses before it looks", async () => {
  const binding = bindWorkspace({ root, isolation: "shared", allowWrites: false });
  await expect(replaceFile(binding, "a.txt", Buffer.from("x"))).rejects.toMatchObject({
    rule: "workspace_read_only",
  });
});
