import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { expect, test } from "vitest";
import { RepositoryRefused } from "../git-failure.ts";
import { integrate } from "../integration/integrate.ts";
import {
  type Contents,
  commitAll,
  fingerprint,
  git,
  makeFolder,
  makeRepository,
  treeOf,
  writeFiles,
} from "../repository.test-support.ts";
import { collectChanges } from "./collect-changes.ts";
import { createWorkingCopy } from "./create-working-copy.ts";
import { discardWorkingCopy } from "./discard-working-copy.ts";

const contents: Contents = { "a.txt": "a\n", "src/b.txt": "b\n" };

/** The states a repository can be in that a person works with; each has to be served whole. */
const states: Readonly<Record<string, () => string>> = {
  "that is clean": () => makeRepository(contents),
  "without a commit": () => {
    const source = makeFolder();
    git(source, "init", "-q");
    writeFiles(source, contents);
    return source;
  },
  "with a detached HEAD": () => {
    const source = makeRepository(contents);
    git(source, "checkout", "-q", "--detach");
    return source;
  },
  "that is shallow": () => {
    const origin = makeRepository(contents);
    commitAll(origin, "second");
    const source = join(makeFolder(), "shallow");
    git(origin, "clone", "-q", "--depth=1", `file://${origin}`, source);
    return source;
  },
  "with uncommitted work, staged and not": () => {
    const source = makeRepository({ ...contents, "staged.txt": "1\n", "gone.txt": "1\n" });
    writeFiles(source, { "staged.txt": "2\n", "gone.txt": null, "new.txt": "new\n" });
    git(source, "add", "staged.txt");
    return source;
  },
  "that is a linked worktree": () => {
    const linked = join(makeFolder(), "linked");
    git(makeRepository(contents), "worktree", "add", "-q", "-b", "other", linked);
    return linked;
  },
  "where nobody has said who they are": () => {
    const source = makeRepository(contents);
    git(source, "config", "user.useConfigOnly", "true");
    return source;
  },
  "with LFS pointers": () => {
    const pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 3\n";
    const attributes = { ".gitattributes": "*.bin filter=lfs diff=lfs merge=lfs -text\n" };
    return makeRepository({ ...contents, ...attributes, "large.bin": pointer });
  },
  "with names that differ in case alone": () =>
    makeRepository({ ...contents, "Readme.md": "1\n", "README.md": "2\n" }),
  "on a branch whose name begins with a dash": () => {
    const source = makeRepository(contents);
    git(source, "update-ref", "refs/heads/--upload-pack=touch", "HEAD");
    git(source, "update-ref", "refs/tags/-d", "HEAD");
    git(source, "symbolic-ref", "HEAD", "refs/heads/--upload-pack=touch");
    return source;
  },
  "in a folder whose name begins with a dash": () => {
    const source = makeRepository(contents);
    const renamed = join(dirname(source), "--git-dir=x");
    renameSync(source, renamed);
    return renamed;
  },
  "with a folder that is a link": () => {
    const elsewhere = makeFolder();
    writeFiles(elsewhere, { "private.txt": "private\n" });
    return makeRepository({ ...contents, link: { link: elsewhere }, inner: { link: "src" } });
  },
  "with a submodule": () => {
    const source = makeRepository(contents);
    const inner = makeRepository({ "inner.txt": "inner\n" });
    git(source, "-c", "protocol.file.allow=always", "submodule", "add", "-q", inner, "inner");
    commitAll(source);
    return source;
  },
  "with SHA-256 objects": () => {
    const source = makeFolder();
    git(source, "init", "-q", "--object-format=sha256");
    writeFiles(source, contents);
    commitAll(source);
    return source;
  },
};

/** Where the person is, and what they have staged. Refs of ours are theirs to delete. */
function standingOf(source: string): readonly string[] {
  const places = ["--git-path", "HEAD", "--git-path", "config"];
  const [head = "", config = ""] = git(source, "rev-parse", ...places).split("\n");
  const refs = git(source, "for-each-ref", "--format=%(refname) %(objectname)").split("\n");
  return [
    ...[head, config].map((path) => readFileSync(resolve(source, path), "utf8")),
    ...refs.filter((line) => !/^refs\/mandate\/|^$/.test(line)),
    git(source, "ls-files", "--stage"),
  ];
}

test.each(Object.entries(states))(
  "a repository %s: one child is merged, one that conflicts is not, and the person stands where they stood",
  async (_, make) => {
    const source = make();
    const home = makeFolder();
    const before = treeOf(source);
    const standing = standingOf(source);
    const one = await createWorkingCopy({ source, id: "one", home });
    const two = await createWorkingCopy({ source, id: "two", home });
    writeFiles(one.root, { "a.txt": "one\n", "src/new.txt": "new\n" });
    writeFiles(two.root, { "a.txt": "two\n", "other.txt": "new\n" });

    expect(await integrate({ copy: one, changes: await collectChanges(one) })).toMatchObject({
      status: "merged",
    });
    const merged = { ...before, "a.txt": "one\n", "src/new.txt": "new\n" };
    expect(treeOf(source)).toEqual(merged);
    expect(standingOf(source)).toEqual(standing);

    const conflict = await integrate({ copy: two, changes: await collectChanges(two) });
    expect(conflict).toMatchObject({ status: "conflict", files: ["a.txt"], keptIn: "repository" });
    expect(git(source, "show", "refs/mandate/two:a.txt")).toBe("two");
    expect(treeOf(source)).toEqual(merged);
    expect(standingOf(source)).toEqual(standing);
    for (const copy of [one, two]) await discardWorkingCopy(copy, { unmerged: "delete" });
    expect(treeOf(source)).toEqual(merged);
  },
);

test("objects that are damaged after the copy was made are a refusal, or not needed; files stay", async () => {
  for (const what of ["HEAD", "HEAD^{tree}", "HEAD:a.txt", "HEAD:src/b.txt"]) {
    const source = makeRepository(contents);
    const copy = await createWorkingCopy({ source, id: "one", home: makeFolder() });
    writeFiles(copy.root, { "a.txt": "one\n" });
    const object = git(source, "rev-parse", what);
    const path = join(source, ".git/objects", object.slice(0, 2), object.slice(2));
    rmSync(path);
    writeFileSync(path, "no zlib here");
    const before = treeOf(source);
    const result = await collectChanges(copy)
      .then((changes) => integrate({ copy, changes }))
      .catch((error: unknown) => error);
    if (result instanceof Error) expect(result).toBeInstanceOf(RepositoryRefused);
    const isMerged = (result as { status?: string }).status === "merged";
    expect(treeOf(source)).toEqual(isMerged ? { ...before, "a.txt": "one\n" } : before);
  }
});

test("submodules run nothing, whatever their file, their path and their hooks say", async () => {
  const markers = makeFolder();
  const source = makeRepository(contents);
  const commit = git(source, "rev-parse", "HEAD");
  const hooks = join(source, ".git/modules/sub/hooks");
  mkdirSync(hooks, { recursive: true });
  writeFileSync(join(hooks, "post-checkout"), `#!/bin/sh\ntouch ${join(markers, "hook")}\n`, {
    mode: 0o755,
  });
  const modules = [
    `[submodule "sub"]\n\tpath = "sub\r"\n\turl = ${source}\n`,
    `[submodule "run"]\n\tpath = run\n\turl = -u./payload\n`,
    `\tupdate = !touch ${join(markers, "update")}\n\tfetchRecurseSubmodules = true\n`,
  ].join("");
  // What is checked out at "sub\r" would land at "sub", which leads to where hooks are.
  writeFiles(source, { ".gitmodules": modules, sub: { link: ".git/modules/sub/hooks" } });
  commitAll(source);
  for (const path of ["sub\r", "run"]) {
    git(source, "update-index", "--add", "--cacheinfo", `160000,${commit},${path}`);
  }
  git(source, "commit", "-q", "-m", "submodules");
  git(source, "config", "submodule.run.update", `!touch ${join(markers, "config")}`);
  git(source, "config", "submodule.recurse", "true");
  const copy = await createWorkingCopy({ source, id: "one", home: makeFolder() });
  expect(copy.omitted.map(({ reason }) => reason)).toEqual(["submodule", "submodule"]);
  writeFiles(copy.root, { "a.txt": "one\n" });
  const before = fingerprint(join(source, ".git/modules"));
  const changes = await collectChanges(copy);
  expect(await integrate({ copy, changes })).toMatchObject({ status: "merged" });
  expect(fingerprint(join(source, ".git/modules"))).toBe(before);
  expect(readdirSync(markers)).toEqual([]);
});

test("a bare repository among the files is copied and stays unchanged", async () => {
  const markers = makeFolder();
  const marker = join(markers, "ran");
  const config = `[core]\n\trepositoryformatversion = 0\n\tbare = true\n\tworktree = ..\n\tfsmonitor = "touch ${marker}; false"\n`;
  const bare = { "evil/HEAD": "ref: refs/heads/main\n", "evil/config": config };
  const source = makeRepository({ ...contents, ...bare, "evil/refs/x": "", "evil/objects/x": "" });
  const copy = await createWorkingCopy({ source, id: "one", home: makeFolder() });
  expect(treeOf(copy.root)).toEqual(treeOf(source));
  writeFiles(copy.root, { "evil/config": `${config}# ${marker}\n`, "evil/hooks/x": "x\n" });
  const changes = await collectChanges(copy);
  expect(changes.problems).toMatchObject([{ kind: "embedded-repository", paths: ["evil"] }]);
  expect(await integrate({ copy, changes })).toMatchObject({ status: "refused" });
  writeFiles(copy.root, { "evil/config": config, "evil/hooks/x": null, "a.txt": "one\n" });
  const others = await collectChanges(copy);
  expect(await integrate({ copy, changes: others })).toMatchObject({ status: "merged" });
  await expect(
    createWorkingCopy({ source: join(source, "evil"), id: "two", home: makeFolder() }),
  ).rejects.toThrow(RepositoryRefused);
  expect(readdirSync(markers)).toEqual([]);
});
