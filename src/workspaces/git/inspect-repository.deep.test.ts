import { execFileSync } from "node:child_process";
import { chownSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createWorkingCopy } from "./copies/create-working-copy.ts";
import { type RefusalCode, RepositoryRefused } from "./git-failure.ts";
import { inspectRepository } from "./inspect-repository.ts";
import {
  commitAll,
  fingerprint,
  git,
  makeFolder,
  makeRepository,
  treeOf,
  writeFiles,
} from "./repository.test-support.ts";

/** The folder is refused before anything is made, and is as it was. */
async function expectRefusal(source: string, code: RefusalCode, says: RegExp): Promise<void> {
  const home = makeFolder();
  const before = fingerprint(source);
  const error = await createWorkingCopy({ source, id: "one", home }).catch((reason) => reason);
  expect(error).toBeInstanceOf(RepositoryRefused);
  expect((error as RepositoryRefused).refusal.code).toBe(code);
  expect((error as RepositoryRefused).message).toMatch(says);
  expect(fingerprint(source)).toBe(before);
  const made = Object.keys(treeOf(home)).filter((path) => !path.startsWith("locks/"));
  expect(made.filter((path) => path !== "copies/" && path !== "worktrees/")).toEqual([]);
}

async function copyOf(source: string) {
  return createWorkingCopy({ source, id: "one", home: makeFolder() });
}

test("a repository without a commit is served, staged or not", async () => {
  const source = makeFolder();
  git(source, "init", "-q");
  writeFiles(source, { "a.txt": "a\n", "b.txt": "b\n" });
  git(source, "add", "a.txt");
  const copy = await copyOf(source);
  expect(copy).toMatchObject({ head: null, dirty: true });
  expect(treeOf(copy.folder)).toEqual({ "a.txt": "a\n", "b.txt": "b\n" });
});

test("an empty repository and an empty folder are served", async () => {
  const source = makeFolder();
  git(source, "init", "-q");
  expect(treeOf((await copyOf(source)).folder)).toEqual({});
  expect(treeOf((await copyOf(makeFolder())).folder)).toEqual({});
});

test("a detached HEAD is served", async () => {
  const source = makeRepository();
  git(source, "checkout", "-q", "--detach");
  expect((await copyOf(source)).head).toBe(git(source, "rev-parse", "HEAD"));
});

test("a shallow clone is served, and its copy knows where history ends", async () => {
  const origin = makeRepository();
  for (const text of ["b\n", "c\n"]) {
    writeFiles(origin, { "a.txt": text });
    commitAll(origin, text);
  }
  const source = join(makeFolder(), "shallow");
  git(origin, "clone", "-q", "--depth=1", `file://${origin}`, source);
  const { folder } = await copyOf(source);
  expect(git(folder, "log", "--format=%s")).toBe("c");
  expect(git(folder, "fsck", "--connectivity-only")).toBe("");
});

test("a repository with SHA-256 objects is served", async () => {
  const source = makeFolder();
  git(source, "init", "-q", "--object-format=sha256");
  writeFiles(source, { "a.txt": "a\n" });
  commitAll(source);
  const copy = await copyOf(source);
  expect(copy.base).toHaveLength(64);
  expect(git(copy.folder, "status", "--porcelain")).toBe("");
});

test("a linked worktree and a submodule are served as the repositories that they are", async () => {
  const source = makeRepository();
  const linked = join(makeFolder(), "linked");
  git(source, "worktree", "add", "-q", "-b", "other", linked);
  writeFiles(linked, { "only-here.txt": "x\n" });
  expect(treeOf((await copyOf(linked)).folder)).toMatchObject({ "only-here.txt": "x\n" });
  const outer = makeRepository({ "outer.txt": "outer\n" });
  git(outer, "-c", "protocol.file.allow=always", "submodule", "add", "-q", source, "inner");
  commitAll(outer);
  const inner = await copyOf(join(outer, "inner"));
  expect(treeOf(inner.folder)).toEqual({ "a.txt": "a\n" });
  const around = await copyOf(outer);
  expect(around.omitted).toEqual([{ path: "inner", reason: "submodule" }]);
  expect(treeOf(around.folder)).toMatchObject({ "outer.txt": "outer\n", "inner/": "" });
});

test("a repository inside the folder is not copied, and said to be missing", async () => {
  const source = makeRepository();
  writeFiles(source, { "nested/file.txt": "x\n" });
  git(join(source, "nested"), "init", "-q");
  const copy = await copyOf(source);
  expect(copy.omitted).toEqual([{ path: "nested", reason: "nested-repository" }]);
  expect(treeOf(copy.folder)).toEqual({ "a.txt": "a\n" });
});

test("a folder that a repository around it ignores is a folder of its own", async () => {
  const source = makeRepository({ ".gitignore": "/play/\n" });
  writeFiles(source, { "play/x.txt": "x\n" });
  const copy = await copyOf(join(source, "play"));
  expect(copy.source).toMatchObject({ kind: "folder", toplevel: join(source, "play") });
  expect(treeOf(copy.folder)).toEqual({ "x.txt": "x\n" });
});

test("a bare repository is refused, also one inside another repository", async () => {
  const bare = makeFolder();
  git(bare, "init", "-q", "--bare");
  await expectRefusal(bare, "bare", /bare repository/);
  const outer = makeRepository();
  git(outer, "init", "-q", "--bare", "embedded");
  await expectRefusal(join(outer, "embedded"), "bare", /bare repository/);
});

test("the inside of a .git folder is refused", async () => {
  const source = makeRepository();
  await expectRefusal(join(source, ".git"), "inside-git-directory", /inside a \.git folder/);
});

test("a locked index is refused until it is free", async () => {
  const source = makeRepository();
  writeFileSync(join(source, ".git/index.lock"), "");
  await expectRefusal(source, "locked", /index\.lock/);
  rmSync(join(source, ".git/index.lock"));
  await expect(copyOf(source)).resolves.toMatchObject({ dirty: false });
});

test("an unfinished merge or rebase is refused, with the files that wait for it", async () => {
  const source = makeRepository();
  git(source, "checkout", "-q", "-b", "other");
  writeFiles(source, { "a.txt": "theirs\n" });
  commitAll(source);
  git(source, "checkout", "-q", "main");
  writeFiles(source, { "a.txt": "ours\n" });
  commitAll(source);
  expect(() => git(source, "merge", "other")).toThrow();
  await expectRefusal(source, "operation-in-progress", /in the middle of a merge/);
  expect((await inspectRepository(source, makeFolder())).refusals[0]?.paths).toEqual(["a.txt"]);
  git(source, "merge", "--abort");
  expect(() => git(source, "rebase", "other")).toThrow();
  await expectRefusal(source, "operation-in-progress", /in the middle of a rebase/);
});

test("a partial clone is served without fetching, a sparse checkout is refused", async () => {
  const origin = makeRepository({ "in/a.txt": "a\n", "out/b.txt": "b\n" });
  git(origin, "config", "uploadpack.allowFilter", "true");
  const partial = join(makeFolder(), "partial");
  git(origin, "clone", "-q", "--filter=blob:none", `file://${origin}`, partial);
  expect(treeOf((await copyOf(partial)).folder)).toEqual(treeOf(origin));
  git(origin, "sparse-checkout", "set", "in");
  await expectRefusal(origin, "sparse-checkout", /sparse checkout/);
});

test("LFS pointers and contents are what they are on disk; no filter is asked", async () => {
  const source = makeRepository({
    ".gitattributes": "*.bin filter=lfs diff=lfs merge=lfs -text\n",
  });
  const pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 3\n";
  writeFiles(source, { "a.bin": pointer });
  commitAll(source);
  writeFiles(source, { "b.bin": "content\r\n" });
  const copy = await copyOf(source);
  expect(treeOf(copy.folder)).toMatchObject({ "a.bin": pointer, "b.bin": "content\r\n" });
});

test("line ends, identifiers and encodings are copied as they are on disk, whatever attributes say", async () => {
  const source = makeRepository({
    ".gitattributes":
      "*.txt text eol=crlf\n*.id ident\n*.utf working-tree-encoding=UTF-16\n*.macro binary\n",
  });
  writeFiles(source, { "a.txt": "one\r\ntwo\n", "a.id": "$Id$\n", "a.utf": "no UTF-16 at all" });
  git(source, "add", "a.txt", "a.id");
  git(source, "commit", "-q", "-m", "normalised");
  const copy = await copyOf(source);
  expect(treeOf(copy.folder)).toEqual(treeOf(source));
  expect(git(copy.folder, "status", "--porcelain")).toBe("");
});

test("names that differ in case alone are seen, and served where the file system can", async () => {
  const source = makeRepository({
    "Readme.md": "1\n",
    "README.md": "2\n",
    "Src/a": "3\n",
    "src/b": "4\n",
  });
  const { caseCollisions } = await inspectRepository(source, makeFolder());
  expect(caseCollisions).toEqual([
    ["README.md", "Readme.md"],
    ["Src", "src"],
  ]);
  expect(treeOf((await copyOf(source)).folder)).toEqual(treeOf(source));
});

test("names that are no text, and names that look like options or patterns, are copied", async () => {
  const source = makeRepository({ "-rf": "1\n", "a\nb": "2\n", "*?[x]": "3\n", ":(top)y": "4\n" });
  writeFileSync(Buffer.concat([Buffer.from(`${source}/`), Buffer.from([0x66, 0xff, 0x6f])]), "5\n");
  commitAll(source);
  const { folder } = await copyOf(source);
  const names = (where: string) =>
    readdirSync(where, { encoding: "buffer" })
      .map((name) => name.toString("latin1"))
      .filter((name) => name !== ".git")
      .sort();
  expect(names(folder)).toEqual(names(source));
});

test("a branch whose name begins with a dash does no harm", async () => {
  const source = makeRepository();
  git(source, "update-ref", "refs/heads/--upload-pack=touch", "HEAD");
  git(source, "symbolic-ref", "HEAD", "refs/heads/--upload-pack=touch");
  expect(treeOf((await copyOf(source)).folder)).toEqual({ "a.txt": "a\n" });
});

test("damaged repositories are refused: no HEAD, no commit, no tree, a broken index or configuration", async () => {
  const damages: readonly ((source: string) => void)[] = [
    (source) => rmSync(join(source, ".git/HEAD")),
    (source) => removeObject(source, git(source, "rev-parse", "HEAD")),
    (source) => removeObject(source, git(source, "rev-parse", "HEAD^{tree}")),
    (source) => writeFileSync(join(source, ".git/index"), "not an index"),
    (source) => writeFileSync(join(source, ".git/config"), "[core\n\tbroken"),
    (source) => writeFileSync(join(source, ".git/refs/heads/main"), "not a hash\n"),
    (source) => rmSync(join(source, ".git/objects"), { recursive: true }),
  ];
  for (const damage of damages) {
    const source = makeRepository();
    damage(source);
    await expectRefusal(source, "corrupt", /git fsck/);
  }
});

test("a file whose stored content is damaged or lost is taken from disk, or refused", async () => {
  const lost = makeRepository();
  removeObject(lost, git(lost, "rev-parse", "HEAD:a.txt"));
  expect(treeOf((await copyOf(lost)).folder)).toEqual({ "a.txt": "a\n" });
  const damaged = makeRepository();
  const path = objectPath(damaged, git(damaged, "rev-parse", "HEAD:a.txt"));
  rmSync(path);
  writeFileSync(path, "no zlib here");
  await expectRefusal(damaged, "corrupt", /git fsck/);
});

test("configuration that points the work tree elsewhere is not followed", async () => {
  const source = makeRepository();
  const elsewhere = makeFolder();
  writeFiles(elsewhere, { "private.txt": "secret\n" });
  git(source, "config", "core.worktree", elsewhere);
  const home = makeFolder();
  await expect(createWorkingCopy({ source, id: "one", home })).rejects.toThrow(RepositoryRefused);
  const outer = join(elsewhere, "project");
  renameSync(source, outer);
  await expectRefusal(outer, "work-tree-elsewhere", /core\.worktree/);
});

test.skipIf(process.getuid?.() !== 0)("a repository of another user is refused", async () => {
  const source = makeRepository();
  for (const path of [source, join(source, ".git")]) chownSync(path, 12345, 12345);
  await expectRefusal(source, "foreign-owner", /safe\.directory/);
});

test("what is too large is refused, and a large untracked file is left out and named", async () => {
  const source = makeRepository();
  writeFiles(source, { "large.bin": "x".repeat(2000) });
  const request = { source, id: "one", home: makeFolder() };
  const copy = await createWorkingCopy({ ...request, limits: { maximumFileBytes: 1000 } });
  expect(copy.omitted).toEqual([{ path: "large.bin", reason: "too-large" }]);
  const tight = createWorkingCopy({ ...request, id: "two", limits: { maximumBytes: 1000 } });
  await expect(tight).rejects.toThrow(/too large for a working copy/);
  const few = createWorkingCopy({ ...request, id: "three", limits: { maximumFiles: 1 } });
  await expect(few).rejects.toThrow(/too large for a working copy/);
});

test("pipes and sockets in the folder are passed by", async () => {
  const source = makeRepository({ "a.txt": "a\n", "b.txt": "b\n" });
  execFileSync("mkfifo", [join(source, "pipe")]);
  rmSync(join(source, "b.txt"));
  execFileSync("mkfifo", [join(source, "b.txt")]);
  expect(treeOf((await copyOf(source)).folder)).toMatchObject({ "a.txt": "a\n" });
});

test("a path that is not a folder is refused", async () => {
  const folder = makeFolder();
  writeFiles(folder, { file: "x" });
  mkdirSync(join(folder, "home"));
  for (const source of [join(folder, "file"), join(folder, "missing")]) {
    await expect(inspectRepository(source, folder)).rejects.toThrow(/not a folder/);
  }
});

function objectPath(source: string, object: string): string {
  return join(source, ".git/objects", object.slice(0, 2), object.slice(2));
}

function removeObject(source: string, object: string): void {
  rmSync(objectPath(source, object));
}

test("an empty .git makes no repository, neither for git nor for us", async () => {
  const source = makeFolder();
  writeFiles(source, { "a.txt": "a\n" });
  mkdirSync(join(source, ".git"));
  const copy = await copyOf(source);
  expect(copy.source.kind).toBe("folder");
  expect(treeOf(copy.folder)).toEqual({ "a.txt": "a\n" });
});
