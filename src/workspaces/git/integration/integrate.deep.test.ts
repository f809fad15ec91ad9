import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { collectChanges } from "../copies/collect-changes.ts";
import { createWorkingCopy } from "../copies/create-working-copy.ts";
import { layoutOf, type WorkingCopy } from "../copies/working-copy.ts";
import {
  type Contents,
  commitAll,
  editInSameSecond,
  git,
  makeExecutable,
  makeFolder,
  makeRepository,
  treeOf,
  writeFiles,
} from "../repository.test-support.ts";
import { type IntegrationRequest, integrate } from "./integrate.ts";

const contents = {
  "a.txt": "1\n2\n3\n4\n5\n6\n7\n8\n9\n",
  "src/b.ts": "b\n",
  "src/deep/c.ts": "c\n",
  ".gitignore": "*.log\n",
};

function plainFolder(files: Contents): string {
  const folder = makeFolder();
  writeFiles(folder, files);
  return folder;
}

/** A child that leaves these files and is integrated. */
async function childOf(source: string, left: Contents, home = makeFolder(), id = "child") {
  const copy = await createWorkingCopy({ source, id, home });
  writeFiles(copy.root, left);
  return copy;
}

async function merge(copy: WorkingCopy, more: Partial<IntegrationRequest> = {}) {
  return integrate({ copy, changes: await collectChanges(copy), ...more });
}

const places = [
  ["a repository", () => makeRepository(contents)],
  ["a folder without git", () => plainFolder(contents)],
] as const;

test.each(places)(
  "changes reach %s: new, changed, deleted, moved, linked, executable",
  async (_, make) => {
    const source = make();
    const left: Contents = {
      "a.txt": "changed\n",
      "src/deep/c.ts": null,
      "src/b.ts": null,
      "lib/new/b.ts": "b\n",
      "run.sh": "echo\n",
      link: { link: "a.txt" },
    };
    const copy = await childOf(source, left);
    makeExecutable(join(copy.root, "run.sh"));
    const result = await merge(copy);
    expect(result).toMatchObject({ status: "merged", how: "fast-forward" });
    expect(treeOf(source)).toEqual({
      ".gitignore": "*.log\n",
      "a.txt": "changed\n",
      "lib/new/b.ts": "b\n",
      "run.sh": "x echo\n",
      link: "-> a.txt",
    });
    const names = result.status === "merged" ? result.files.map(({ path }) => path) : [];
    expect(names).toEqual(["a.txt", "lib/new/b.ts", "link", "run.sh", "src/b.ts", "src/deep/c.ts"]);
  },
);

test.each(places)(
  "edits that the person made meanwhile survive in %s, merged or untouched",
  async (_, make) => {
    const source = make();
    writeFiles(source, { "mine.txt": "uncommitted before\n" });
    const copy = await childOf(source, {
      "a.txt": "1\n2\n3\n4\n5\n6\n7\n8\nchild\n",
      "src/b.ts": null,
      "child.txt": "child\n",
    });
    writeFiles(source, {
      "a.txt": "person\n2\n3\n4\n5\n6\n7\n8\n9\n",
      "mine.txt": "uncommitted after\n",
      "src/deep/c.ts": null,
      "late.txt": "late\n",
      "ignored.log": "ignored\n",
    });
    expect(await merge(copy)).toMatchObject({ status: "merged", how: "three-way" });
    expect(treeOf(source)).toEqual({
      ".gitignore": "*.log\n",
      "a.txt": "person\n2\n3\n4\n5\n6\n7\n8\nchild\n",
      "child.txt": "child\n",
      "ignored.log": "ignored\n",
      "late.txt": "late\n",
      "mine.txt": "uncommitted after\n",
      "src/deep/": "",
    });
  },
);

test("HEAD, branch and index of the person are left alone; what they had staged stays staged", async () => {
  const source = makeRepository(contents);
  writeFiles(source, { "staged.txt": "staged\n" });
  git(source, "add", "staged.txt");
  const copy = await childOf(source, { "src/b.ts": "child\n", "new.txt": "new\n" });
  const before = git(source, "log", "--format=%H %D", "--all");
  await merge(copy);
  expect(git(source, "log", "--format=%H %D", "--all")).toBe(before);
  expect(git(source, "status", "--porcelain").split("\n")).toEqual([
    " M src/b.ts",
    "A  staged.txt",
    "?? new.txt",
  ]);
});

test.each(places)(
  "of two children that change the same line in %s one is merged, the other fails and its work is kept",
  async (name, make) => {
    const source = make();
    const home = makeFolder();
    const one = await childOf(source, { "a.txt": "one\n", "one.txt": "1\n" }, home, "one");
    const two = await childOf(source, { "a.txt": "two\n", "two.txt": "2\n" }, home, "two");
    expect(await merge(one)).toMatchObject({ status: "merged" });
    const before = treeOf(source);
    const result = await merge(two);
    expect(result).toMatchObject({ status: "conflict", files: ["a.txt"], ref: "refs/mandate/two" });
    expect(treeOf(source)).toEqual(before);
    const isGit = name === "a repository";
    expect(result).toMatchObject({ keptIn: isGit ? "repository" : "vault" });
    const where = isGit ? source : join(home, "copies/two/vault.git");
    expect(git(where, "show", "refs/mandate/two:a.txt")).toBe("two");
    expect(git(where, "show", "refs/mandate/two:two.txt")).toBe("2");
    if (isGit) expect(git(source, "fsck", "--strict")).toBe("");
  },
);

test("a file that one side changed and the other deleted is a conflict with its name", async () => {
  const source = makeRepository(contents);
  const copy = await childOf(source, { "src/b.ts": "child\n" });
  writeFiles(source, { "src/b.ts": null });
  expect(await merge(copy)).toMatchObject({ status: "conflict", files: ["src/b.ts"] });
  expect(treeOf(source)).not.toHaveProperty("src/b.ts");
});

test("attributes that the child planted do not resolve its conflicts", async () => {
  const source = makeRepository(contents);
  const planted = { ".gitattributes": "* merge=union\n", "a.txt": "child\n" };
  const copy = await childOf(source, planted);
  writeFiles(source, { "a.txt": "person\n" });
  expect(await merge(copy)).toMatchObject({ status: "conflict", files: ["a.txt"] });
});

test("a path outside the step's own is a violation, named, with nothing merged and the work kept", async () => {
  const source = makeRepository(contents);
  const before = treeOf(source);
  const copy = await childOf(source, { "src/b.ts": "ok\n", "a.txt": "not mine\n", x: "x\n" });
  const result = await merge(copy, { owns: ["src/**"] });
  expect(result).toMatchObject({
    status: "violation",
    files: ["a.txt", "x"],
    keptIn: "repository",
  });
  expect(treeOf(source)).toEqual(before);
  expect(await merge(copy, { owns: [] })).toMatchObject({ status: "violation" });
  expect(await merge(copy, { owns: ["src/", "*.txt", "x"] })).toMatchObject({ status: "merged" });
});

test("a change that follows the person's rename still has to belong to the step", async () => {
  const source = makeRepository({ "src/b.ts": "line\n".repeat(20), "other/x": "x\n" });
  const copy = await childOf(source, { "src/b.ts": `${"line\n".repeat(20)}child\n` });
  writeFiles(source, { "src/b.ts": null, "other/b.ts": "line\n".repeat(20) });
  const result = await merge(copy, { owns: ["src/**"] });
  expect(result).toMatchObject({ status: "violation", files: ["other/b.ts"] });
  expect(await merge(copy)).toMatchObject({ status: "merged" });
  expect(treeOf(source)["other/b.ts"]).toMatch(/child\n$/);
});

test("problems of the child's files keep everything as it was", async () => {
  const source = makeRepository(contents);
  const before = treeOf(source);
  const copy = await childOf(source, { "a.txt": "child\n", link: { link: "/etc/passwd" } });
  const result = await merge(copy);
  expect(result).toMatchObject({ status: "refused", reason: "problems", files: ["link"] });
  expect(treeOf(source)).toEqual(before);
});

test("two children that add names which collide: the second is refused", async () => {
  const source = makeRepository(contents);
  const home = makeFolder();
  const one = await childOf(source, { "New.txt": "1\n" }, home, "one");
  const two = await childOf(source, { "new.txt": "2\n" }, home, "two");
  expect(await merge(one)).toMatchObject({ status: "merged" });
  expect(await merge(two)).toMatchObject({
    status: "refused",
    files: ["New.txt", "new.txt"],
  });
});

test("a file of the person that no copy saw is never overwritten", async () => {
  const source = makeRepository(contents);
  writeFiles(source, { "secret.log": "the person's\n" });
  const copy = await childOf(source, {
    ".gitignore": "",
    "secret.log": "child's\n",
    "b.txt": "b\n",
  });
  const before = treeOf(source);
  const result = await merge(copy);
  expect(result).toMatchObject({
    status: "refused",
    reason: "changed-meanwhile",
    files: ["secret.log"],
  });
  expect(treeOf(source)).toEqual(before);
});

test("folders and files that take each other's place", async () => {
  const source = makeRepository({
    "thing/a": "a\n",
    "thing/b": "b\n",
    other: "o\n",
    l: { link: "other" },
  });
  const copy = await childOf(source, {
    thing: "a file now\n",
    other: null,
    "other/deep/x": "x\n",
    l: null,
    "l/y": "y\n",
  });
  expect(await merge(copy)).toMatchObject({ status: "merged" });
  expect(treeOf(source)).toEqual({ "l/y": "y\n", "other/deep/x": "x\n", thing: "a file now\n" });
});

test("a folder that still holds something ignored is not removed, and its place not taken", async () => {
  const source = makeRepository({ ".gitignore": "*.log\n", "thing/a": "a\n" });
  writeFiles(source, { "thing/keep.log": "keep\n" });
  const gone = await childOf(source, { "thing/a": null });
  expect(await merge(gone)).toMatchObject({ status: "merged" });
  expect(treeOf(source)).toMatchObject({ "thing/keep.log": "keep\n" });
  const taken = await childOf(source, { thing: "file\n" }, makeFolder());
  const before = treeOf(source);
  expect(await merge(taken)).toMatchObject({ status: "refused", files: ["thing"] });
  expect(treeOf(source)).toEqual(before);
});

test("asking again gives the recorded outcome, and does not undo what the person did since", async () => {
  const source = makeRepository(contents);
  const copy = await childOf(source, { "src/b.ts": "child\n" });
  const changes = await collectChanges(copy);
  const first = await integrate({ copy, changes });
  writeFiles(source, { "src/b.ts": "the person's, afterwards\n" });
  expect(await integrate({ copy, changes })).toEqual(first);
  expect(treeOf(source)["src/b.ts"]).toBe("the person's, afterwards\n");
});

test("what the target has already is merged without touching it", async () => {
  const source = makeRepository(contents);
  const copy = await childOf(source, { "src/b.ts": "same\n" });
  writeFiles(source, { "src/b.ts": "same\n", "other.txt": "x\n" });
  const { mtimeMs } = statSync(join(source, "src/b.ts"));
  expect(await merge(copy)).toMatchObject({ status: "merged", how: "already", files: [] });
  expect(statSync(join(source, "src/b.ts")).mtimeMs).toBe(mtimeMs);
  const idle = await childOf(source, {}, makeFolder());
  expect(await merge(idle)).toMatchObject({ status: "merged", how: "nothing" });
});

test("a locked repository, and one in the middle of a merge, are left alone", async () => {
  const source = makeRepository(contents);
  const copy = await childOf(source, { "src/b.ts": "child\n" });
  writeFileSync(join(source, ".git/index.lock"), "");
  const result = await merge(copy);
  expect(result).toMatchObject({ status: "refused", reason: "repository" });
  expect(result).toMatchObject({ sentence: expect.stringContaining("index.lock") });
  rmSync(join(source, ".git/index.lock"));
  expect(await merge(copy)).toMatchObject({ status: "merged" });
});

test("a source that is no longer a repository is not merged into", async () => {
  const source = makeRepository(contents);
  const copy = await childOf(source, { "src/b.ts": "child\n" });
  const changes = await collectChanges(copy);
  rmSync(join(source, ".git"), { recursive: true });
  const before = treeOf(source);
  const result = await integrate({ copy, changes });
  expect(result).toMatchObject({ status: "refused", reason: "source-changed", keptIn: "vault" });
  expect(treeOf(source)).toEqual(before);
});

test("permissions of a replaced file stay, but for what the child made executable", async () => {
  const source = makeRepository(contents);
  chmodSync(join(source, "a.txt"), 0o640);
  chmodSync(join(source, "src/b.ts"), 0o640);
  const copy = await childOf(source, { "a.txt": "child\n", "src/b.ts": "child\n" });
  makeExecutable(join(copy.root, "src/b.ts"));
  await merge(copy);
  expect(statSync(join(source, "a.txt")).mode & 0o777).toBe(0o640);
  expect(statSync(join(source, "src/b.ts")).mode & 0o777).toBe(0o750);
  expect(statSync(join(source, "a.txt")).nlink).toBe(1);
});

test.skipIf(process.getuid?.() === 0)(
  "files that may not be changed are a refusal, and everything is restored",
  async () => {
    const source = makeRepository(contents);
    const copy = await childOf(source, { "a.txt": "child\n", "src/b.ts": "child\n" });
    const before = treeOf(source);
    chmodSync(join(source, "src"), 0o555);
    const result = await merge(copy);
    chmodSync(join(source, "src"), 0o755);
    expect(result).toMatchObject({ status: "refused", reason: "unwritable" });
    expect(treeOf(source)).toEqual(before);
  },
);

const otherSystem = "/dev/shm";
const hasOtherSystem =
  existsSync(otherSystem) && statSync(otherSystem).dev !== statSync(tmpdir()).dev;

test.skipIf(!hasOtherSystem)(
  "a target on another file system than MANDATE_HOME is changed as one, too",
  async () => {
    const source = mkdtempSync(join(otherSystem, "mandate-git-"));
    onTestFinished(() => rmSync(source, { recursive: true, force: true }));
    writeFiles(source, contents);
    const copy = await childOf(source, { "a.txt": "child\n", "src/b.ts": null, "new/x": "x\n" });
    const seen: string[] = [];
    const observe = () => void seen.push(readdirSync(source).join(" "));
    expect(await merge(copy, { observe })).toMatchObject({ status: "merged" });
    expect(seen.some((names) => names.includes(".mandate-child"))).toBe(true);
    const { "src/b.ts": _, ...rest } = contents;
    expect(treeOf(source)).toEqual({ ...rest, "a.txt": "child\n", "new/x": "x\n" });
  },
);

test("a workspace inside a repository takes over its own part", async () => {
  const source = makeRepository(contents);
  const home = makeFolder();
  const copy = await createWorkingCopy({ source: join(source, "src"), id: "one", home });
  writeFiles(copy.root, { "b.ts": null, "deep/c.ts": null, "only.ts": "x\n" });
  const result = await merge(copy, { owns: ["*.ts", "deep"] });
  expect(result).toMatchObject({ status: "merged" });
  expect(treeOf(join(source, "src"))).toEqual({ "only.ts": "x\n" });
  const empty = await createWorkingCopy({ source: join(source, "src"), id: "two", home });
  writeFiles(empty.root, { "only.ts": null });
  expect(await merge(empty)).toMatchObject({ status: "merged" });
  // The workspace itself stays, although it is empty.
  expect(treeOf(source)).toHaveProperty("src/");
});

test("a grandchild's work reaches its parent's copy, and from there the repository", async () => {
  const source = makeRepository(contents);
  const home = makeFolder();
  const parent = await childOf(source, { "a.txt": "parent\n" }, home, "parent");
  const child = await childOf(parent.root, { "src/b.ts": "grandchild\n" }, home, "grandchild");
  expect(await merge(child)).toMatchObject({ status: "merged" });
  expect(treeOf(source)).toEqual(contents);
  expect(treeOf(parent.root)).toMatchObject({ "a.txt": "parent\n", "src/b.ts": "grandchild\n" });
  expect(await merge(parent)).toMatchObject({ status: "merged" });
  expect(treeOf(source)).toEqual({ ...contents, "a.txt": "parent\n", "src/b.ts": "grandchild\n" });
});

test("an edit of the person of the same length in the second of the copy's making is part of the merge", async () => {
  const source = makeRepository({ "a.txt": "a\n", "b.txt": "b\n" });
  const copy = await childOf(source, { "a.txt": "child's\n" });
  editInSameSecond(source, "a.txt", "z\n", [layoutOf(copy.home, copy.id).sourceIndex]);
  expect(await merge(copy)).toMatchObject({ status: "conflict", files: ["a.txt"] });
  expect(treeOf(source)).toEqual({ "a.txt": "z\n", "b.txt": "b\n" });
});

test("a check sees the merged tree in a folder of its own, and can say no", async () => {
  const source = makeRepository(contents);
  const copy = await childOf(source, { "src/b.ts": "child\n" });
  writeFiles(source, { "a.txt": "person\n" });
  const before = treeOf(source);
  let seen: unknown;
  const result = await merge(copy, {
    check: async ({ folder }) => {
      seen = treeOf(folder);
      return { passed: false, reason: "tests fail" };
    },
  });
  expect(result).toMatchObject({ status: "refused", reason: "check-failed" });
  expect(seen).toEqual({ ...before, "src/b.ts": "child\n" });
  expect(treeOf(source)).toEqual(before);
  const passed = await merge(copy, { check: async () => ({ passed: true }) });
  expect(passed).toMatchObject({ status: "merged" });
});

test("an edit during the check is merged with, not overwritten", async () => {
  const source = makeRepository(contents);
  const copy = await childOf(source, { "a.txt": "1\n2\n3\n4\n5\n6\n7\n8\nchild\n" });
  const result = await merge(copy, {
    check: async () => {
      writeFiles(source, { "a.txt": "person\n2\n3\n4\n5\n6\n7\n8\n9\n" });
      return { passed: true };
    },
  });
  expect(result).toMatchObject({ status: "merged", how: "three-way" });
  expect(treeOf(source)["a.txt"]).toBe("person\n2\n3\n4\n5\n6\n7\n8\nchild\n");
});

test("a hundred files and a binary one arrive byte for byte", async () => {
  const source = makeRepository(contents);
  const copy = await childOf(source, {});
  const bytes = Buffer.from(Array.from({ length: 256 }, (_, index) => index));
  writeFileSync(join(copy.root, "all.bin"), bytes);
  writeFiles(
    copy.root,
    Object.fromEntries(
      Array.from({ length: 100 }, (_, index) => [`many/${index}.txt`, `${index}\r\n`]),
    ),
  );
  await merge(copy);
  expect(treeOf(source)).toEqual(treeOf(copy.root));
  commitAll(source);
});

test("locks that a killed git left on the indexes of a merge and of its check are passed over", async () => {
  const source = makeRepository(contents);
  const copy = await childOf(source, { "new.txt": "new\n" });
  const vault = join(copy.home, "copies/child/vault.git");
  writeFiles(vault, { "staging.index.lock": "", "merged.index.lock": "" });
  const check = async ({ root }: { readonly root: string }) => {
    expect(existsSync(join(root, "new.txt"))).toBe(true);
    return { passed: true } as const;
  };
  expect(await merge(copy, { check })).toMatchObject({ status: "merged" });
  expect(treeOf(source)).toEqual({ ...contents, "new.txt": "new\n" });
});
