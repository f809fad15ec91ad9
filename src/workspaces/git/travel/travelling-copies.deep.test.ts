import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { collectChanges } from "../copies/collect-changes.ts";
import { createWorkingCopy } from "../copies/create-working-copy.ts";
import { discardWorkingCopy, noteSent } from "../copies/discard-working-copy.ts";
import { WorkingCopies } from "../copies/working-copies.ts";
import { openWorkingCopy, type WorkingCopy } from "../copies/working-copy.ts";
import { integrate } from "../integration/integrate.ts";
import {
  commitAll,
  git,
  makeExecutable,
  makeFolder,
  makeRepository,
  treeOf,
  writeFiles,
} from "../repository.test-support.ts";
import { openChanges, openStart, type StartHeader, sealBundle } from "./git-bundle.ts";
import { type PackLimits, packChanges, packCopy, unpackCopy } from "./pack-copy.ts";
import { receiveChanges } from "./receive-changes.ts";

const standsFor = "/not/here";

async function makeCopy(source: string, id = "c1"): Promise<WorkingCopy> {
  return createWorkingCopy({ source, id, home: makeFolder() });
}

/** Opens the copy on another machine: in a home that knows nothing of the first. */
async function travel(copy: WorkingCopy, limits?: Partial<PackLimits>): Promise<WorkingCopy> {
  const text = await packCopy(copy, limits);
  const { base, id, source } = copy;
  const { prefix } = source;
  return unpackCopy({ home: makeFolder(), id, text, base, prefix, standsFor });
}

/** Works there, and brings it back. */
async function bringBack(there: WorkingCopy, here: WorkingCopy) {
  const changes = await collectChanges(there, { message: "Work" });
  return receiveChanges(here, await packChanges(there, changes));
}

describe("a copy that travels", () => {
  it("is byte for byte what it was: modes, links, uncommitted, untracked and ignored files", async () => {
    const source = makeRepository({
      "a.txt": "a\n",
      "crlf.txt": "one\r\ntwo\r\n",
      ".gitattributes": "*.txt text eol=lf\n*.bin filter=lfs\n",
      ".gitignore": "ignored.log\n",
      "bin/run": "#!/bin/sh\n",
      "x.bin": "\0\x01 binary \r\n",
      "deep/er/file": "down\n",
      link: { link: "a.txt" },
      out: { link: "/etc/hostname" },
    });
    makeExecutable(join(source, "bin/run"));
    commitAll(source, "second");
    writeFiles(source, {
      "a.txt": "uncommitted\n",
      "new file.txt": "untracked\n",
      "ignored.log": "no\n",
      "deep/er/file": null,
    });
    const copy = await makeCopy(source);
    const there = await travel(copy);
    expect(treeOf(there.folder)).toEqual(treeOf(copy.folder));
    expect(treeOf(there.folder)["a.txt"]).toBe("uncommitted\n");
    expect(treeOf(there.folder)).not.toHaveProperty("ignored.log");
    expect(there).toMatchObject({ base: copy.base, baseTree: copy.baseTree });
    // Its own git works there, history included, and sees no changes.
    expect(git(there.folder, "status", "--porcelain")).toBe("");
    expect(git(there.folder, "log", "--format=%s").split("\n")).toHaveLength(3);
    execFileSync("git", ["fsck", "--strict"], { cwd: there.folder, stdio: "ignore" });
    // What is ignored at home is ignored there.
    writeFiles(there.folder, { "ignored.log": "a log\n", "made.txt": "made\n" });
    const { files } = await collectChanges(there);
    expect(files.map(({ path }) => path)).toEqual(["made.txt"]);
  });

  it("of a plain folder, of a part of a repository and of an empty one arrives as well", async () => {
    const folder = makeFolder();
    writeFiles(folder, { "one.txt": "1\n", "two/three.txt": "3\n" });
    const plain = await makeCopy(folder);
    expect(treeOf((await travel(plain)).folder)).toEqual(treeOf(folder));
    const repository = makeRepository({ "a.txt": "a\n", "part/b.txt": "b\n" });
    const part = await travel(await makeCopy(join(repository, "part")));
    expect(treeOf(part.root)).toEqual({ "b.txt": "b\n" });
    expect(part.root).toBe(join(part.folder, "part"));
    const nothing = join(makeRepository(), "empty");
    mkdirSync(nothing);
    expect(existsSync((await travel(await makeCopy(nothing))).root)).toBe(true);
  });

  it("leaves a history behind that is too large, and can still be worked with", async () => {
    const source = makeRepository({ "a.txt": "first\n" });
    writeFiles(source, { "a.txt": "second\n" });
    commitAll(source);
    writeFiles(source, { "a.txt": "third\n" });
    const copy = await makeCopy(source);
    const there = await travel(copy, { historyBytes: 10 });
    expect(git(there.folder, "log", "--format=%H")).toBe(copy.base);
    writeFiles(there.folder, { "b.txt": "b\n" });
    await bringBack(there, copy);
    const changes = await collectChanges(copy);
    expect(await integrate({ copy, changes })).toMatchObject({ status: "merged" });
    expect(treeOf(source)).toEqual({ "a.txt": "third\n", "b.txt": "b\n" });
    // A copy of it can be made there in turn.
    const { home } = there;
    const inner = await createWorkingCopy({ source: there.root, id: "c2", home });
    expect(treeOf(inner.folder)).toEqual({ "a.txt": "third\n", "b.txt": "b\n" });
  });

  it("is refused when it is too large, in words that say what to do", async () => {
    const copy = await makeCopy(makeRepository({ "a.txt": "a".repeat(5000) }));
    await expect(packCopy(copy, { maximumBytes: 100 })).rejects.toThrow(
      /too large to send to other workers.*engine\.workspaces: shared/,
    );
  });

  it("gives the same text for the same state, so that siblings share one", async () => {
    const source = makeRepository({ "a.txt": "a\n", "b.txt": "b\n" });
    const [one, two] = [await makeCopy(source, "c1"), await makeCopy(source, "c2")];
    expect(await packCopy(one)).toBe(await packCopy(two));
  });
});

describe("work that comes back", () => {
  it("is merged as if it had been done here: new, changed, removed, renamed, linked, executable", async () => {
    const source = makeRepository({ "a.txt": "a\n", "gone.txt": "x\n", "sub/old.txt": "o\n" });
    const copy = await makeCopy(source);
    const there = await travel(copy);
    writeFiles(there.folder, {
      "a.txt": "changed\n",
      "gone.txt": null,
      "sub/old.txt": null,
      "sub/new.txt": "o\n",
      link: { link: "a.txt" },
      "bin/run": "#!/bin/sh\n",
    });
    makeExecutable(join(there.folder, "bin/run"));
    const work = treeOf(there.folder);
    const { commit, problems } = await bringBack(there, copy);
    expect(problems).toEqual([]);
    expect(treeOf(copy.folder)).toEqual(work);
    const changes = await collectChanges(copy);
    expect(changes.commit).toBe(commit);
    expect(await integrate({ copy, changes })).toMatchObject({ status: "merged" });
    expect(treeOf(source)).toEqual(work);
  });

  it("can be received again after a crash anywhere, and replaces what a lost attempt left", async () => {
    const source = makeRepository();
    const copy = await makeCopy(source);
    const there = await travel(copy);
    writeFiles(there.folder, { "b.txt": "b\n" });
    writeFiles(copy.folder, { "lost.txt": "of somebody who is gone\n", "a.txt": null });
    await bringBack(there, copy);
    expect(treeOf(copy.folder)).toEqual({ "a.txt": "a\n", "b.txt": "b\n" });
    execFileSync("rm", ["-rf", copy.folder]);
    await bringBack(there, copy);
    expect(treeOf(copy.folder)).toEqual({ "a.txt": "a\n", "b.txt": "b\n" });
    const { commit } = await bringBack(there, copy);
    expect((await collectChanges(copy)).commit).toBe(commit);
  });

  it("is received although a git that was killed has left its locks", async () => {
    const copy = await makeCopy(makeRepository());
    const there = await travel(copy);
    writeFiles(there.folder, { "b.txt": "b\n" });
    const locks = ["copy.index.lock", "copy.index.tip.lock", "vault.git/refs/mandate/c1.lock"];
    const own = join(copy.home, "copies/c1");
    for (const lock of [...locks, "vault.git/refs/mandate/c1-base.lock"]) {
      writeFiles(own, { [lock]: "" });
      // Somebody has worked in it: everything is laid out anew.
      writeFiles(copy.folder, { "lost.txt": "of somebody who is gone\n", "b.txt": null });
      await bringBack(there, copy);
      expect(treeOf(copy.folder)).toEqual({ "a.txt": "a\n", "b.txt": "b\n" });
      writeFiles(own, { [lock]: null });
    }
  });

  it("is nothing where nothing was changed, whatever lay in the copy here", async () => {
    const copy = await makeCopy(makeRepository());
    const there = await travel(copy);
    writeFiles(copy.folder, { "lost.txt": "of somebody who is gone\n" });
    await collectChanges(copy);
    expect(await bringBack(there, copy)).toMatchObject({ commit: null, problems: [] });
    expect(treeOf(copy.folder)).toEqual({ "a.txt": "a\n" });
    expect((await collectChanges(copy)).commit).toBeNull();
  });

  it("brings along what must not be merged, though it cannot be sent", async () => {
    const copy = await makeCopy(makeRepository());
    const there = await travel(copy);
    writeFiles(there.folder, { "b.txt": "b\n", escape: { link: "../../etc/passwd" } });
    const { problems } = await bringBack(there, copy);
    expect(problems.map(({ kind }) => kind)).toEqual(["escaping-link"]);
    const changes = { ...(await collectChanges(copy)), problems };
    expect(await integrate({ copy, changes })).toMatchObject({ status: "refused" });
  });

  it("conflicts like any other work", async () => {
    const source = makeRepository();
    const copy = await makeCopy(source);
    const there = await travel(copy);
    writeFiles(there.folder, { "a.txt": "theirs\n" });
    writeFiles(source, { "a.txt": "ours\n" });
    await bringBack(there, copy);
    const changes = await collectChanges(copy);
    expect(await integrate({ copy, changes })).toMatchObject({ status: "conflict" });
    expect(readFileSync(join(source, "a.txt"), "utf8")).toBe("ours\n");
  });

  it("is removed over there once it is sent, and not before", async () => {
    const copy = await makeCopy(makeRepository());
    const there = await travel(copy);
    writeFiles(there.folder, { "b.txt": "b\n" });
    expect(await discardWorkingCopy(there)).toMatchObject({ status: "kept" });
    noteSent(there, (await collectChanges(there)).tree);
    writeFiles(there.folder, { "b.txt": "changed since\n" });
    expect(await discardWorkingCopy(there)).toMatchObject({ status: "kept" });
    writeFiles(there.folder, { "b.txt": "b\n" });
    expect(await discardWorkingCopy(there)).toMatchObject({ status: "removed" });
    // At home nothing counts as sent.
    writeFiles(copy.folder, { "b.txt": "b\n" });
    noteSent(copy, (await collectChanges(copy)).tree);
    expect(await discardWorkingCopy(copy)).toMatchObject({ status: "kept" });
  });
});

/** A tree that no git would add to an index, by its entries. */
function makeTree(folder: string, entries: readonly string[]): string {
  // mktree refuses slashes and says nothing of names such as .git and ..
  return execFileSync("git", ["mktree"], {
    cwd: folder,
    input: entries.map((entry) => `${entry}\n`).join(""),
    encoding: "utf8",
  }).trim();
}

interface Hostile {
  readonly folder: string;
  readonly blob: string;
  readonly tree: (...entries: string[]) => string;
  readonly commit: (tree: string, ...parents: string[]) => string;
  readonly pack: (wanted: string) => Buffer;
}

function openHostile(folder: string): Hostile {
  const run = (args: readonly string[], input = ""): Buffer =>
    execFileSync("git", ["-c", "user.name=x", "-c", "user.email=x@y", ...args], {
      cwd: folder,
      input,
    });
  const ask = (...args: string[]): string => run(args).toString().trim();
  return {
    folder,
    blob: run(["hash-object", "-w", "--stdin"], "evil\n").toString().trim(),
    tree: (...entries) => makeTree(folder, entries),
    commit: (tree, ...parents) =>
      ask("commit-tree", tree, "-m", "x", ...parents.flatMap((parent) => ["-p", parent])),
    pack: (wanted) => run(["pack-objects", "--revs", "--stdout", "-q"], wanted),
  };
}

describe("a hostile bundle", () => {
  const header: Omit<StartHeader, "base"> = {
    ...({ mandate: "copy", version: 1 } as const),
    ...{ head: null, prefix: "", shallow: "", ignoreRules: "", omitted: [] },
  };

  async function unpackHostile(hostile: Hostile, base: string, prefix = ""): Promise<WorkingCopy> {
    const home = makeFolder();
    const text = sealBundle(
      { ...header, base, prefix },
      {
        ...{ objectFormat: "sha1", prerequisites: [], pack: hostile.pack(`${base}\n`) },
        refs: [{ name: "refs/mandate/base", commit: base }],
      },
    );
    const before = join(home, "worktrees");
    try {
      return await unpackCopy({ home, id: "c1", text, base, prefix, standsFor });
    } catch (error) {
      // Nothing of it is left.
      expect(treeOf(before)).toEqual({});
      expect(treeOf(join(home, "copies"))).toEqual({});
      throw error;
    }
  }

  const names = [".git", "..", ".GIT", "git~1", "."];
  it.each(names)("with a file called %s in it is laid out nowhere", async (name) => {
    const hostile = openHostile(makeRepository());
    const inner = hostile.tree(`100755 blob ${hostile.blob}\tpost-checkout`);
    const trees = [
      hostile.tree(`100644 blob ${hostile.blob}\t${name}`),
      hostile.tree(`040000 tree ${hostile.tree(`040000 tree ${inner}\thooks`)}\t${name}`),
    ];
    for (const tree of trees) {
      const unpacking = unpackHostile(hostile, hostile.commit(tree));
      await expect(unpacking).rejects.toMatchObject({ refusal: { code: "bundle-damaged" } });
    }
  });

  it("with a link in place of a folder writes nothing behind the link", async () => {
    const target = makeFolder();
    const folder = makeRepository();
    const hostile = openHostile(folder);
    const link = execFileSync("git", ["hash-object", "-w", "--stdin"], {
      cwd: folder,
      input: target,
      encoding: "utf8",
    }).trim();
    const inner = hostile.tree(`100644 blob ${hostile.blob}\tplanted`);
    // Git sorts them apart: the link comes first, then what would be written through it.
    const tree = hostile.tree(`120000 blob ${link}\tdir`, `040000 tree ${inner}\tdir`);
    await unpackHostile(hostile, hostile.commit(tree)).catch(() => undefined);
    expect(treeOf(target)).toEqual({});
    // A link as the workspace itself.
    const linked = hostile.commit(hostile.tree(`120000 blob ${link}\tpart`));
    await expect(unpackHostile(hostile, linked, "part")).rejects.toThrow(/is not a folder/);
    expect(treeOf(target)).toEqual({});
  });

  it("with a submodule leaves an empty folder, and clones nothing", async () => {
    const hostile = openHostile(makeRepository());
    const modules = execFileSync("git", ["hash-object", "-w", "--stdin"], {
      cwd: hostile.folder,
      input: '[submodule "s"]\n\tpath = s\n\turl = ext::sh -c "touch /tmp/pwned"\n',
      encoding: "utf8",
    }).trim();
    const tree = hostile.tree(
      `100644 blob ${modules}\t.gitmodules`,
      `160000 commit ${"1".repeat(40)}\ts`,
    );
    const copy = await unpackHostile(hostile, hostile.commit(tree));
    expect(treeOf(copy.folder)).toMatchObject({ "s/": "" });
  });

  it("runs no hook and no filter, and borrows from nowhere", async () => {
    const hostile = openHostile(makeRepository());
    const attributes = execFileSync("git", ["hash-object", "-w", "--stdin"], {
      cwd: hostile.folder,
      input: "* filter=evil text eol=crlf ident\n",
      encoding: "utf8",
    }).trim();
    const tree = hostile.tree(
      `100644 blob ${attributes}\t.gitattributes`,
      `100644 blob ${hostile.blob}\tf`,
    );
    const copy = await unpackHostile(hostile, hostile.commit(tree));
    expect(treeOf(copy.folder)["f"]).toBe("evil\n");
    const alternates = readFileSync(join(copy.folder, ".git/objects/info/alternates"), "utf8");
    for (const line of alternates.trim().split("\n")) expect(line.startsWith(copy.home)).toBe(true);
    expect(existsSync(join(copy.folder, ".git/hooks"))).toBe(false);
  });

  it("that brings more than its commit needs, or less, is refused", async () => {
    const hostile = openHostile(makeRepository());
    const base = git(hostile.folder, "rev-parse", "HEAD");
    const other = hostile.commit(hostile.tree(`100644 blob ${hostile.blob}\tsecret`));
    const unpack = (pack: Uint8Array) => {
      const refs = [{ name: "refs/mandate/base", commit: base }];
      const bundle = { objectFormat: "sha1", prerequisites: [], refs, pack } as const;
      const text = sealBundle({ ...header, base }, bundle);
      const request = { home: makeFolder(), id: "c1", text, base, prefix: "", standsFor };
      return unpackCopy(request);
    };
    await expect(unpack(hostile.pack(`${base}\n${other}\n`))).rejects.toThrow(/not exactly those/);
    await expect(unpack(hostile.pack(`${other}\n`))).rejects.toThrow(/cannot be used/);
    await expect(unpack(Buffer.from("PACK nonsense"))).rejects.toThrow(/cannot be used/);
  });

  it.each([
    ["nothing", () => ""],
    ["no line", (text: string) => text.replaceAll("\n", " ")],
    ["another kind", (text: string) => text.replace('"copy"', '"changes"')],
    ["a part that leads out", (text: string) => text.replace('"prefix":""', '"prefix":"../x"')],
    ["a key too many", (text: string) => text.replace("{", '{"__proto__":{"a":1},')],
    ["a byte changed", (text: string) => `${text.slice(0, -9)}AAAA${text.slice(-5)}`],
    ["the end cut off", (text: string) => text.slice(0, -300)],
    ["more behind", (text: string) => `${text}AAAA`],
    ["spaces in it", (text: string) => `${text} \n`],
  ])("with %s is refused", async (_name, change) => {
    const copy = await makeCopy(makeRepository({ "a.txt": "a\n".repeat(2000) }));
    const text = change(await packCopy(copy));
    const { base, id } = copy;
    const request = { home: makeFolder(), id, text, base, prefix: "", standsFor };
    await expect(unpackCopy(request)).rejects.toMatchObject({
      refusal: { code: "bundle-damaged" },
    });
  });

  it("of another base than expected is refused", async () => {
    const copy = await makeCopy(makeRepository());
    const text = await packCopy(copy);
    const base = "0".repeat(40);
    const request = { home: makeFolder(), id: "c1", text, base, prefix: "", standsFor };
    await expect(unpackCopy(request)).rejects.toThrow(/another base/);
  });
});

describe("changes that are not what they seem", () => {
  async function sendBack(
    make: (hostile: Hostile, base: string) => string,
    wanted = (commit: string, base: string) => `${commit}\n^${base}\n`,
  ) {
    const source = makeRepository();
    const copy = await makeCopy(source);
    const hostile = openHostile(source);
    const commit = make(hostile, copy.base);
    const text = sealBundle(
      { mandate: "changes", version: 1, base: copy.base, commit, problems: [] },
      {
        ...{ objectFormat: "sha1", prerequisites: [copy.base] },
        refs: [{ name: "refs/mandate/c1", commit }],
        pack: hostile.pack(wanted(commit, copy.base)),
      },
    );
    return { copy, receiving: receiveChanges(copy, text), text };
  }

  it("stand on their base alone: not on nothing, not on two, not on another", async () => {
    const bad: ((hostile: Hostile, base: string) => string)[] = [
      ({ blob, commit, tree }) => commit(tree(`100644 blob ${blob}\tx`)),
      ({ blob, commit, tree }, base) =>
        commit(tree(`100644 blob ${blob}\tx`), base, commit(tree(`100644 blob ${blob}\ty`))),
      ({ blob, commit, tree }, base) =>
        commit(tree(`100644 blob ${blob}\tx`), commit(tree(`100644 blob ${blob}\ty`), base)),
    ];
    for (const make of bad) {
      const { copy, receiving } = await sendBack(make);
      await expect(receiving).rejects.toMatchObject({ refusal: { code: "bundle-damaged" } });
      expect((await collectChanges(copy)).commit).toBeNull();
    }
  });

  it("hold nothing that a child's files could not", async () => {
    const inGit = ({ blob, commit, tree }: Hostile, base: string) =>
      commit(tree(`040000 tree ${tree(`100755 blob ${blob}\tpost-commit`)}\t.git`), base);
    const { copy, receiving } = await sendBack(inGit);
    await expect(receiving).rejects.toThrow(/laid out/);
    // The copy can still be used, by those who send something better.
    const there = await travel(copy);
    writeFiles(there.folder, { "b.txt": "b\n" });
    await bringBack(there, copy);
    expect(treeOf(copy.folder)).toEqual({ "a.txt": "a\n", "b.txt": "b\n" });
    const link = ({ commit, folder, tree }: Hostile, base: string) => {
      const target = execFileSync("git", ["hash-object", "-w", "--stdin"], {
        cwd: folder,
        input: "/etc/passwd",
        encoding: "utf8",
      }).trim();
      return commit(tree(`120000 blob ${target}\tl`), base);
    };
    // What would not have been collected there is not taken here.
    await expect((await sendBack(link)).receiving).rejects.toThrow(/not those of its commit/);
  });

  it("of another base, or tampered with, leave the copy as it was", async () => {
    const copy = await makeCopy(makeRepository());
    const other = await makeCopy(makeRepository({ "other.txt": "o\n" }));
    const there = await travel(copy);
    writeFiles(there.folder, { "b.txt": "b\n" });
    const text = await packChanges(there, await collectChanges(there));
    await expect(receiveChanges(other, text)).rejects.toThrow(/another base/);
    const { header } = openChanges(text);
    const cut = text.slice(0, -40);
    await expect(receiveChanges(copy, cut)).rejects.toThrow(/cannot be used/);
    const swapped = text.replaceAll(header.commit ?? "", "1".repeat(40));
    await expect(receiveChanges(copy, swapped)).rejects.toThrow(/cannot be used/);
    expect(treeOf(copy.folder)).toEqual({ "a.txt": "a\n" });
  });
});

describe("the copies of one home", () => {
  it("take up what comes from elsewhere, and bring it home when its folder is here", async () => {
    const source = makeRepository();
    const copy = await makeCopy(source);
    const text = await packCopy(copy);
    expect(openStart(text).header).toMatchObject({ base: copy.base });
    const home = makeFolder();
    const copies = new WorkingCopies(home);
    const request = { id: "c1", text, base: copy.base, prefix: "", standsFor };
    const [one, two] = await Promise.all([copies.unpack(request), copies.unpack(request)]);
    expect(one).toEqual(two);
    writeFileSync(join(one.root, "b.txt"), "b\n");
    symlinkSync("b.txt", join(one.root, "l"));
    const changes = await copies.collect(one, "Work");
    // A folder of that name on this machine is not the one that it is of.
    expect(await copies.integrate({ copy: one, changes })).toMatchObject({ status: "refused" });
    const mine = await copies.bringHome(one, source);
    expect(await copies.integrate({ copy: mine, changes })).toMatchObject({ status: "merged" });
    expect(treeOf(source)).toEqual({ "a.txt": "a\n", "b.txt": "b\n", l: "-> b.txt" });
    expect(openWorkingCopy(home, "c1").source.kind).toBe("git");
  });
});
