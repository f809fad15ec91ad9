import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { chmodSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  type Contents,
  commitAll,
  editInSameSecond,
  git,
  makeExecutable,
  makeFolder,
  makeRepository,
  setIndexTimes,
  timesOf,
  writeFiles,
} from "../repository.test-support.ts";
import { collectChanges } from "./collect-changes.ts";
import { createWorkingCopy } from "./create-working-copy.ts";
import { diffOf } from "./diff-of.ts";
import { layoutOf } from "./working-copy.ts";

const contents = { "a.txt": "a\n", "src/b.ts": "b\n", "src/c.ts": "c\n", ".gitignore": "*.log\n" };

async function copyOf(source = makeRepository(contents)) {
  return createWorkingCopy({ source, id: "one", home: makeFolder() });
}

/** What collecting says about files that a child left. */
async function problemsOf(left: Contents, source = makeRepository(contents)) {
  const copy = await copyOf(source);
  writeFiles(copy.root, left);
  const { problems } = await collectChanges(copy);
  return problems.map(({ kind, paths }) => ({ kind, paths }));
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

test("nothing changed gives no commit", async () => {
  const copy = await copyOf();
  const changes = await collectChanges(copy);
  expect(changes).toEqual({ commit: null, tree: copy.baseTree, files: [], problems: [] });
  expect(await diffOf(copy, changes)).toEqual({ text: "", truncated: false });
});

test("changes are one commit on the base, with hashes before and after, whatever the child committed itself", async () => {
  const copy = await copyOf();
  writeFiles(copy.folder, { "a.txt": "child\n" });
  commitAll(copy.folder, "the child's own commit");
  git(copy.folder, "checkout", "-q", "--orphan", "elsewhere");
  writeFiles(copy.folder, {
    "src/b.ts": null,
    "new/d.ts": "d\n",
    "skip.log": "ignored\n",
    link: { link: "src/c.ts" },
  });
  makeExecutable(join(copy.folder, "src/c.ts"));
  const changes = await collectChanges(copy, { message: "what was done" });
  expect(changes.problems).toEqual([]);
  expect(changes.files).toEqual([
    { path: "a.txt", before: sha256("a\n"), after: sha256("child\n"), mode: "file" },
    { path: "link", before: null, after: sha256("src/c.ts"), mode: "link" },
    { path: "new/d.ts", before: null, after: sha256("d\n"), mode: "file" },
    { path: "src/b.ts", before: sha256("b\n"), after: null, mode: "file" },
    { path: "src/c.ts", before: sha256("c\n"), after: sha256("c\n"), mode: "executable" },
  ]);
  const vault = join(copy.home, "copies/one/vault.git");
  const about = git(vault, "log", "-1", "--format=%P %an %s", "refs/mandate/one");
  expect(about).toBe(`${copy.base} Mandate what was done`);
  expect(git(vault, "rev-parse", "refs/mandate/one")).toBe(changes.commit);
  const again = await collectChanges(copy);
  expect(again.commit).toBe(changes.commit);
});

test("a change that keeps the size and the time of a file is found", async () => {
  const copy = await copyOf();
  const path = join(copy.folder, "a.txt");
  const long = Date.UTC(2001) / 1000;
  utimesSync(path, long, long);
  await collectChanges(copy);
  // As if that had been two seconds earlier; the time of the change itself cannot be forged.
  const { copyIndex } = layoutOf(copy.home, copy.id);
  const { changed, modified } = timesOf(path);
  setIndexTimes(copyIndex, "a.txt", { changed: changed - 2, modified });
  writeFileSync(path, "z\n");
  utimesSync(path, long, long);
  expect((await collectChanges(copy)).files.map(({ path }) => path)).toEqual(["a.txt"]);
});

test("an edit of the same length in the second of the copy's making is found", async () => {
  const copy = await copyOf();
  const { copyIndex } = layoutOf(copy.home, copy.id);
  const itsIndex = join(copy.folder, ".git/index");
  expect(timesOf(itsIndex).modified).toBe(timesOf(copyIndex).modified);
  editInSameSecond(copy.folder, "a.txt", "z\n", [copyIndex, itsIndex]);
  expect((await collectChanges(copy)).files.map(({ path }) => path)).toEqual(["a.txt"]);
  expect(git(copy.folder, "status", "--porcelain")).toBe(" M a.txt");
});

test("the diff is unified and cut at its limit", async () => {
  const copy = await copyOf();
  writeFiles(copy.folder, { "a.txt": "child\n", "long.txt": "line\n".repeat(1000) });
  const changes = await collectChanges(copy);
  const whole = await diffOf(copy, changes);
  expect(whole.truncated).toBe(false);
  expect(whole.text).toContain("--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-a\n+child\n");
  const cut = await diffOf(copy, changes, 300);
  expect(cut.truncated).toBe(true);
  expect(cut.text.endsWith("\n")).toBe(true);
  expect(whole.text.startsWith(cut.text)).toBe(true);
});

test("files that control git are plain data", async () => {
  const left = {
    ".gitattributes": "* text eol=crlf filter=x merge=union\n",
    ".gitmodules": '[submodule "x"]\n\tpath = x\n\turl = ext::sh -c x\n',
    "crlf.txt": "one\r\ntwo\r\n",
  };
  const copy = await copyOf();
  writeFiles(copy.folder, left);
  const { files, problems } = await collectChanges(copy);
  expect(problems).toEqual([]);
  expect(Object.fromEntries(files.map(({ path, after }) => [path, after]))).toEqual(
    Object.fromEntries(Object.entries(left).map(([path, text]) => [path, sha256(text)])),
  );
});

test("links that leave the workspace are a problem, links that stay in it are not", async () => {
  const inside = {
    "src/up": { link: "../a.txt" },
    here: { link: "." },
    "src/x": { link: "nowhere" },
  };
  expect(await problemsOf(inside)).toEqual([]);
  const outside: Contents = {
    absolute: { link: "/etc/passwd" },
    above: { link: "../x" },
    "src/deep/far": { link: "../../../x" },
    tricky: { link: "src/../../x" },
    // `here/..` is outside, because `here` is the top itself.
    "through-link": { link: "here/../x" },
    git: { link: ".git/config" },
    GIT: { link: "src/../.GIT/hooks" },
  };
  expect(await problemsOf({ ...inside, ...outside })).toEqual([
    { kind: "escaping-link", paths: Object.keys(outside).sort() },
  ]);
});

test("a workspace inside a repository ends at its own folder", async () => {
  const source = makeRepository(contents);
  const home = makeFolder();
  const copy = await createWorkingCopy({ source: join(source, "src"), id: "one", home });
  writeFiles(copy.root, { "b.ts": "child\n", link: { link: "../a.txt" }, ok: { link: "c.ts" } });
  writeFiles(copy.folder, { "a.txt": "outside\n", "other/x": "outside\n" });
  const { files, problems } = await collectChanges(copy);
  expect(files.map(({ path }) => path)).toEqual(["../a.txt", "../other/x", "b.ts", "ok"]);
  expect(problems.map(({ kind, paths }) => ({ kind, paths }))).toEqual([
    { kind: "escaping-link", paths: ["link"] },
    { kind: "outside-workspace", paths: ["../a.txt", "../other/x"] },
  ]);
});

test("a repository in the copy, in any spelling of its name, is a problem and not a submodule", async () => {
  const copy = await copyOf();
  writeFiles(copy.folder, { "nested/x.txt": "x\n", "src/.GIT/config": "x\n", "src/git~1": "x\n" });
  git(join(copy.folder, "nested"), "init", "-q");
  commitAll(join(copy.folder, "nested"));
  writeFiles(copy.folder, { "src/b.ts": null, "src/b.ts/inner.txt": "x\n", "ok.txt": "ok\n" });
  git(join(copy.folder, "src/b.ts"), "init", "-q");
  commitAll(join(copy.folder, "src/b.ts"));
  writeFiles(copy.folder, { "f/.g\u200cit/x": "x\n", ".gitmodules": { link: "a.txt" } });
  const { files, problems } = await collectChanges(copy);
  expect(problems.map(({ kind, paths }) => ({ kind, paths }))).toEqual([
    { kind: "nested-repository", paths: ["nested", "src/b.ts"] },
    { kind: "control-link", paths: [".gitmodules"] },
    { kind: "control-name", paths: ["f/.g\u200cit/x", "src/.GIT/config", "src/git~1"] },
  ]);
  expect(files.map(({ path }) => path)).toEqual(["ok.txt", "src/b.ts"]);
});

test("files in the place of a submodule are a problem, and its entry stays", async () => {
  const source = makeRepository(contents);
  git(
    source,
    "-c",
    "protocol.file.allow=always",
    "submodule",
    "add",
    "-q",
    makeRepository(),
    "sub",
  );
  commitAll(source);
  expect(await problemsOf({ "sub/x.txt": "x\n" }, source)).toEqual([
    { kind: "submodule", paths: ["sub"] },
  ]);
  const copy = await copyOf(source);
  rmSync(join(copy.folder, "sub"), { recursive: true });
  expect(await collectChanges(copy)).toMatchObject({ commit: null, problems: [] });
});

test("names that collide are a problem when the child adds them", async () => {
  const source = makeRepository({ ...contents, "Old.txt": "1\n", "old.txt": "2\n" });
  expect(await problemsOf({ "Old.txt": "changed\n" }, source)).toEqual([]);
  expect(await problemsOf({ "A.TXT": "x\n", "SRC/new.ts": "x\n" }, source)).toEqual([
    { kind: "case-collision", paths: ["A.TXT", "a.txt", "SRC", "src"] },
  ]);
});

test("large files, too many files, special files and names that are no text are problems", async () => {
  const copy = await copyOf();
  writeFiles(copy.folder, { "large.bin": "x".repeat(2000), "small.txt": "x" });
  const limited = await collectChanges(copy, { limits: { maximumFileBytes: 1000 } });
  expect(limited.problems).toMatchObject([{ kind: "too-large", paths: ["large.bin"] }]);
  expect(limited.files.map(({ path }) => path)).toEqual(["small.txt"]);
  const two = await copyOf();
  writeFiles(two.folder, { x: "x", y: "y", z: "z" });
  const many = await collectChanges(two, { limits: { maximumFiles: 2 } });
  expect(many).toMatchObject({ commit: null, problems: [{ kind: "too-many" }] });
  const three = await copyOf();
  rmSync(join(three.folder, "a.txt"));
  execFileSync("mkfifo", [join(three.folder, "a.txt"), join(three.folder, "unseen")]);
  writeFileSync(Buffer.concat([Buffer.from(`${three.folder}/`), Buffer.from([0xff])]), "x");
  const odd = await collectChanges(three);
  expect(odd.problems.map(({ kind }) => kind)).toEqual(["special-file", "unreadable-name"]);
});

test("a folder replaced by a link, and a file by a folder, are what they are", async () => {
  const copy = await copyOf();
  const outside = makeFolder();
  writeFiles(outside, { "b.ts": "secret\n" });
  writeFiles(copy.folder, { src: { link: outside }, "a.txt": null, "a.txt/inner": "x\n" });
  const { files, problems } = await collectChanges(copy);
  expect(problems.map(({ kind, paths }) => ({ kind, paths }))).toEqual([
    { kind: "escaping-link", paths: ["src"] },
  ]);
  expect(files.map(({ path, after }) => [path, after])).toEqual([
    ["a.txt", null],
    ["a.txt/inner", sha256("x\n")],
    ["src/b.ts", null],
    ["src/c.ts", null],
  ]);
});

test.skipIf(process.getuid?.() === 0)(
  "a file that cannot be read is a failure, not an omission",
  async () => {
    const copy = await copyOf();
    writeFiles(copy.folder, { "closed.txt": "x" });
    chmodSync(join(copy.folder, "closed.txt"), 0);
    await expect(collectChanges(copy)).rejects.toThrow(/Permission denied/);
  },
);

test("a lock that a killed git left on the ref of a copy keeps nothing from being collected", async () => {
  const copy = await copyOf(makeRepository());
  writeFiles(copy.folder, { "b.txt": "b\n" });
  const vault = join(copy.home, "copies", copy.id, "vault.git");
  writeFiles(vault, { [`refs/mandate/${copy.id}.lock`]: "" });
  const { commit } = await collectChanges(copy);
  expect(git(vault, "rev-parse", `refs/mandate/${copy.id}`)).toBe(commit);
});
