import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  commitAll,
  fingerprint,
  git,
  makeExecutable,
  makeFolder,
  makeRepository,
  treeOf,
  writeFiles,
} from "../repository.test-support.ts";
import { createWorkingCopy } from "./create-working-copy.ts";
import { discardWorkingCopy } from "./discard-working-copy.ts";

const contents = { "a.txt": "a\n", "src/b.ts": "b\n", "src/c.ts": "c\n", ".gitignore": "*.log\n" };

test("a copy of a clean repository is at its HEAD and holds its files, and the source is not written to", async () => {
  const source = makeRepository(contents);
  const before = fingerprint(source);
  const copy = await createWorkingCopy({ source, id: "one", home: makeFolder() });
  expect(copy).toMatchObject({ dirty: false, head: git(source, "rev-parse", "HEAD") });
  expect(copy.base).toBe(copy.head);
  expect(treeOf(copy.folder)).toEqual(treeOf(source));
  expect(git(copy.folder, "status", "--porcelain")).toBe("");
  expect(git(copy.folder, "log", "--format=%H")).toBe(git(source, "log", "--format=%H"));
  expect(fingerprint(source)).toBe(before);
});

test("uncommitted work is part of the base: staged, unstaged, new, deleted, modes and links, and nothing ignored", async () => {
  const source = makeRepository({ ...contents, "run.sh": "echo\n", "gone.txt": "gone\n" });
  writeFiles(source, {
    "a.txt": "staged\n",
    "src/b.ts": "unstaged\n",
    "src/c.ts": null,
    "gone.txt": null,
    "new/deep/file.txt": "new\n",
    "noise.log": "ignored\n",
    link: { link: "src/b.ts" },
    dangling: { link: "nowhere" },
  });
  makeExecutable(join(source, "run.sh"));
  git(source, "add", "a.txt");
  writeFiles(source, { "a.txt": "staged, then changed again\n" });
  const copy = await createWorkingCopy({ source, id: "one", home: makeFolder() });
  const { "noise.log": ignored, ...expected } = treeOf(source);
  expect(ignored).toBe("ignored\n");
  expect(treeOf(copy.folder)).toEqual(expected);
  expect(copy.dirty).toBe(true);
  expect(git(copy.folder, "rev-parse", "HEAD")).toBe(copy.base);
  expect(git(copy.folder, "rev-parse", "HEAD^")).toBe(copy.head);
  expect(git(copy.folder, "status", "--porcelain")).toBe("");
});

test("the same state gives the same base", async () => {
  const source = makeRepository(contents);
  writeFiles(source, { "a.txt": "changed\n" });
  const home = makeFolder();
  const one = await createWorkingCopy({ source, id: "one", home });
  const two = await createWorkingCopy({ source, id: "two", home });
  expect(two.base).toBe(one.base);
});

test("copies that are asked for at once share one capture, also when the first of them is cancelled", async () => {
  const source = makeRepository(contents);
  writeFiles(source, { "a.txt": "changed\n", "new.txt": "untracked\n" });
  const home = makeFolder();
  const first = new AbortController();
  const cancelled = createWorkingCopy({ source, id: "first", home, signal: first.signal });
  cancelled.catch(() => undefined);
  const others = ["one", "two", "three"].map((id) => createWorkingCopy({ source, id, home }));
  first.abort(new Error("cancelled"));
  await expect(cancelled).rejects.toThrow();
  const copies = await Promise.all(others);
  expect(new Set(copies.map(({ base }) => base)).size).toBe(1);
  for (const { folder } of copies) {
    expect(treeOf(folder)).toEqual({ ...contents, "a.txt": "changed\n", "new.txt": "untracked\n" });
  }
  // Each stands alone: without its siblings it has all of its objects.
  const [one, two] = copies;
  await discardWorkingCopy(one ?? expect.fail(), { unmerged: "delete" });
  expect(git(two?.folder ?? "", "show", "HEAD:new.txt")).toBe("untracked");
  expect(git(two?.folder ?? "", "fsck", "--connectivity-only")).toBe("");
});

test("ignored but tracked files are copied; files that git was told to ignore changes of are read", async () => {
  const source = makeRepository({ "a.txt": "a\n", "kept.log": "kept\n" });
  writeFiles(source, { ".gitignore": "*.log\n" });
  commitAll(source);
  git(source, "update-index", "--assume-unchanged", "a.txt");
  writeFiles(source, { "a.txt": "changed behind git's back\n", "other.log": "ignored\n" });
  const { folder } = await createWorkingCopy({ source, id: "one", home: makeFolder() });
  expect(treeOf(folder)).toEqual({
    ".gitignore": "*.log\n",
    "a.txt": "changed behind git's back\n",
    "kept.log": "kept\n",
  });
});

test("the repository's own exclude file holds, and a file that is no longer tracked is untracked", async () => {
  const source = makeRepository({ "a.txt": "a\n", ".env": "SECRET=1\n" });
  git(source, "rm", "-q", "--cached", ".env");
  writeFiles(join(source, ".git/info"), { exclude: ".env\n" });
  const { folder } = await createWorkingCopy({ source, id: "one", home: makeFolder() });
  expect(treeOf(folder)).toEqual({ "a.txt": "a\n" });
});

test("a workspace that is a folder of a repository gets a copy of the whole, bound to its part", async () => {
  const source = makeRepository(contents);
  const copy = await createWorkingCopy({
    source: join(source, "src"),
    id: "x",
    home: makeFolder(),
  });
  expect(copy.root).toBe(join(copy.folder, "src"));
  expect(copy.source).toEqual({ kind: "git", toplevel: source, prefix: "src" });
  expect(treeOf(copy.folder)).toEqual(treeOf(source));
});

test("a folder without git is copied through a repository of the runtime's own", async () => {
  const source = makeFolder();
  writeFiles(source, { ...contents, "skip.log": "ignored\n", link: { link: "a.txt" } });
  const before = fingerprint(source);
  const copy = await createWorkingCopy({ source, id: "one", home: makeFolder() });
  expect(copy).toMatchObject({ head: null, dirty: true, source: { kind: "folder" } });
  const { "skip.log": _, ...expected } = treeOf(source);
  expect(treeOf(copy.folder)).toEqual(expected);
  expect(git(copy.folder, "status", "--porcelain")).toBe("");
  expect(fingerprint(source)).toBe(before);
  expect(existsSync(join(source, ".git"))).toBe(false);
});

test("the copy is a repository of its own: commits, refs and the stash in it stay in it", async () => {
  const source = makeRepository(contents);
  const before = fingerprint(source);
  const { folder } = await createWorkingCopy({ source, id: "one", home: makeFolder() });
  writeFiles(folder, { "a.txt": "child\n" });
  git(folder, "stash");
  git(folder, "stash", "pop");
  commitAll(folder, "child's");
  git(folder, "tag", "v1");
  git(folder, "config", "user.nickname", "x");
  expect(fingerprint(source)).toBe(before);
  expect(readFileSync(join(folder, ".git/config"), "utf8")).not.toContain("remote");
});

test("objects are borrowed, not copied", async () => {
  const source = makeRepository({ "large.txt": `${"text ".repeat(1000)}\n` });
  const home = makeFolder();
  const { objects } = await createWorkingCopy({ source, id: "one", home });
  expect(objects).toEqual([
    join(home, "copies/one/vault.git/objects"),
    join(source, ".git/objects"),
  ]);
  expect(treeOf(join(home, "copies/one/vault.git/objects"))).toEqual({
    "info/alternates": `${join(source, ".git/objects")}\n`,
    "pack/": "",
  });
});

test("a copy inside a copy takes the child's files as they are, and its .git is not believed", async () => {
  const source = makeRepository(contents);
  const home = makeFolder();
  const parent = await createWorkingCopy({ source, id: "parent", home });
  writeFiles(parent.folder, { "a.txt": "parent's\n", "new.txt": "new\n", "src/b.ts": null });
  // Said by the child's own repository: everything is tracked, nothing has changed.
  git(parent.folder, "update-index", "--assume-unchanged", "a.txt");
  writeFiles(join(parent.folder, ".git/info"), { exclude: "*\n" });
  const child = await createWorkingCopy({ source: parent.root, id: "child", home });
  expect(child.source).toMatchObject({ kind: "copy", toplevel: parent.folder });
  expect(treeOf(child.folder)).toEqual(treeOf(parent.folder));
  expect(git(child.folder, "log", "--format=%H", "HEAD^")).toBe(git(source, "log", "--format=%H"));
});

test("MANDATE_HOME inside the workspace is no part of it", async () => {
  const source = makeRepository(contents);
  const home = join(source, "my data [1]");
  const one = await createWorkingCopy({ source, id: "one", home });
  const two = await createWorkingCopy({ source, id: "two", home });
  expect(Object.keys(treeOf(two.folder))).toEqual(Object.keys(contents).sort());
  expect(two.base).toBe(one.base);
});

test("an id that is taken, or no id, is refused", async () => {
  const source = makeRepository();
  const home = makeFolder();
  await createWorkingCopy({ source, id: "one", home });
  await expect(createWorkingCopy({ source, id: "one", home })).rejects.toThrow(/exists already/);
  for (const id of ["", "..", "a/b", "-x", ".git", "a".repeat(65)]) {
    await expect(createWorkingCopy({ source, id, home })).rejects.toThrow(/is not a valid id/);
  }
});

test("ten thousand files are copied, with git and without", { timeout: 120_000 }, async () => {
  const plain = join(makeFolder(), "plain");
  for (let index = 0; index < 10_000; index++) {
    const folder = join(plain, `src/d${index % 100}`);
    if (index < 100) mkdirSync(folder, { recursive: true });
    const text = `export const value${index} = ${index};\n`.repeat(20);
    writeFileSync(join(folder, `f${index}.ts`), text);
  }
  const home = makeFolder();
  const expected = treeOf(plain);
  const folder = await createWorkingCopy({ source: plain, id: "folder", home });
  expect(treeOf(folder.folder)).toEqual(expected);
  git(plain, "init", "-q");
  // All contents in one pack, as in a repository that was cloned.
  git(plain, "-c", "core.bigFileThreshold=1", "add", "-A");
  git(plain, "commit", "-q", "-m", "state");
  const repository = await createWorkingCopy({ source: plain, id: "repository", home });
  expect(treeOf(repository.folder)).toEqual(expected);
});
