import { chmodSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { collectChanges } from "./copies/collect-changes.ts";
import { createWorkingCopy } from "./copies/create-working-copy.ts";
import { diffOf } from "./copies/diff-of.ts";
import { discardWorkingCopy } from "./copies/discard-working-copy.ts";
import { integrate } from "./integration/integrate.ts";
import {
  commitAll,
  fingerprint,
  git,
  makeFolder,
  makeRepository,
  treeOf,
  writeFiles,
} from "./repository.test-support.ts";

const hooks = [
  ...["applypatch-msg", "pre-commit", "prepare-commit-msg", "commit-msg", "post-commit"],
  ...["pre-merge-commit", "post-merge", "post-checkout", "post-index-change", "pre-auto-gc"],
  ...["post-rewrite", "reference-transaction", "fsmonitor-watchman", "pre-push", "update"],
];

/** A program that leaves a file with its name in `markers`, and passes its input on. */
function makeProgram(markers: string, name: string): string {
  const path = join(makeFolder(), name);
  writeFileSync(path, `#!/bin/sh\ntouch '${join(markers, name)}'\ncat 2>/dev/null\nexit 0\n`);
  chmodSync(path, 0o755);
  return path;
}

/** Everything in a repository by which git would run a program. */
function plant(folder: string, markers: string): void {
  const program = (name: string) => makeProgram(markers, name);
  mkdirSync(join(folder, ".git/hooks"), { recursive: true });
  for (const hook of hooks) symlinkSync(program(`hook-${hook}`), join(folder, ".git/hooks", hook));
  const settings: Record<string, string> = {
    "core.hooksPath": join(folder, ".git/hooks"),
    "core.fsmonitor": program("fsmonitor"),
    "core.pager": program("pager"),
    "core.editor": program("editor"),
    "core.sshCommand": program("ssh"),
    "core.askPass": program("askpass"),
    "core.gitProxy": program("proxy"),
    "core.alternateRefsCommand": program("alternate-refs"),
    "credential.helper": `!${program("credential")}`,
    "filter.evil.clean": program("clean"),
    "filter.evil.smudge": program("smudge"),
    "filter.evil.process": program("filter-process"),
    "filter.evil.required": "true",
    "diff.external": program("diff-external"),
    "diff.evil.textconv": program("textconv"),
    "diff.evil.command": program("diff-command"),
    "merge.evil.driver": program("merge-driver"),
    "commit.gpgSign": "true",
    "gpg.program": program("gpg"),
    "alias.st": `!${program("alias")}`,
    "interactive.diffFilter": program("diff-filter"),
    "uploadpack.packObjectsHook": program("pack-objects-hook"),
    "gc.auto": "1",
  };
  for (const [name, value] of Object.entries(settings)) {
    writeFileSync(
      join(folder, ".git/config"),
      `[${section(name)}]\n\t${key(name)} = "${value}"\n`,
      { flag: "a" },
    );
  }
  writeFiles(join(folder, ".git/info"), { attributes: "* filter=evil diff=evil merge=evil\n" });
}

function section(name: string): string {
  const [first = "", ...rest] = name.split(".");
  const middle = rest.slice(0, -1).join(".");
  return middle === "" ? first : `${first} "${middle}"`;
}

function key(name: string): string {
  return name.slice(name.lastIndexOf(".") + 1);
}

const attributes = "* filter=evil diff=evil merge=evil ident text eol=crlf\n";

afterEach(() => {
  vi.unstubAllEnvs();
});

test("nothing that the source or a child planted is run, whatever is done with the copies", async () => {
  const markers = makeFolder();
  const source = makeRepository({ ".gitattributes": attributes, "a.txt": "a\n", "b.txt": "b\n" });
  plant(source, markers);
  // So that git has something to compare, clean and smudge.
  writeFiles(source, { "a.txt": "uncommitted\n", "new.txt": "new\n" });
  vi.stubEnv("GIT_EXTERNAL_DIFF", makeProgram(markers, "environment-diff"));
  vi.stubEnv("GIT_PAGER", makeProgram(markers, "environment-pager"));
  vi.stubEnv("GIT_DIR", join(source, ".git"));
  vi.stubEnv("GIT_CONFIG_COUNT", "1");
  vi.stubEnv("GIT_CONFIG_KEY_0", "core.fsmonitor");
  vi.stubEnv("GIT_CONFIG_VALUE_0", makeProgram(markers, "environment-config"));
  const home = makeFolder();
  const copies = [];
  for (const id of ["one", "two", "three"]) {
    const copy = await createWorkingCopy({ source, id, home });
    plant(copy.folder, markers);
    writeFiles(copy.folder, {
      ".gitattributes": `${attributes}# ${id}\n`.repeat(id === "three" ? 1 : 0) || attributes,
      "a.txt": `${id}\n`,
      [`${id}.txt`]: "new\n",
    });
    copies.push(copy);
  }
  const statuses: string[] = [];
  for (const copy of copies) {
    const changes = await collectChanges(copy);
    expect((await diffOf(copy, changes)).text).toContain("+++ b/a.txt");
    const result = await integrate({ copy, changes });
    statuses.push(result.status);
    const grandchild = await createWorkingCopy({ source: copy.root, id: `${copy.id}-child`, home });
    await discardWorkingCopy(grandchild, { unmerged: "delete" });
    await discardWorkingCopy(copy, { unmerged: "delete" });
  }
  expect(statuses).toEqual(["merged", "conflict", "conflict"]);
  expect(readdirSync(markers)).toEqual([]);
  expect(treeOf(source)).toMatchObject({ "a.txt": "one\n", "one.txt": "new\n" });
});

test("what was planted does run when git is used without these precautions", () => {
  const markers = makeFolder();
  const source = makeRepository({ ".gitattributes": attributes, "a.txt": "a\n" });
  plant(source, markers);
  writeFiles(source, { "a.txt": "changed\n" });
  const commands = [
    ["status"],
    ["add", "-A"],
    // One kind of program hides another; what was seen is taken away for the next.
    ["config", "--unset", "filter.evil.process"],
    ["config", "--unset", "core.fsmonitor"],
    ["add", "-A"],
    ["diff", "HEAD"],
    ["log", "-p", "-1", "--textconv", "--no-ext-diff"],
    ["commit", "--allow-empty", "-qm", "x"],
  ];
  for (const args of commands) {
    try {
      git(source, ...args);
    } catch {
      // The programs are no real filters, so git may complain; they have been run.
    }
  }
  expect(readdirSync(markers)).toEqual(
    expect.arrayContaining([
      "clean",
      "diff-command",
      "filter-process",
      "fsmonitor",
      "gpg",
      "hook-pre-commit",
      "textconv",
    ]),
  );
});

test("a link in the place of a working copy leads nowhere", async () => {
  const source = makeRepository();
  const home = makeFolder();
  const outside = makeFolder();
  writeFiles(outside, { "precious.txt": "precious\n" });
  mkdirSync(join(home, "worktrees"));
  mkdirSync(join(home, "copies"));
  symlinkSync(outside, join(home, "worktrees/one"));
  symlinkSync(outside, join(home, "copies/one"));
  const before = fingerprint(outside);
  const copy = await createWorkingCopy({ source, id: "one", home });
  expect(treeOf(copy.folder)).toEqual({ "a.txt": "a\n" });
  expect(fingerprint(outside)).toBe(before);
});

test("links that the source committed are copied as links, and nothing is written through them", async () => {
  const outside = makeFolder();
  writeFiles(outside, { "a.txt": "outside\n" });
  const source = makeRepository({ dir: { link: outside }, "b.txt": "b\n" });
  const copy = await createWorkingCopy({ source, id: "one", home: makeFolder() });
  expect(treeOf(copy.folder)).toEqual({ "b.txt": "b\n", dir: `-> ${outside}` });
  // The child turns the link into a folder, and the person keeps it.
  writeFiles(copy.folder, { dir: null, "dir/a.txt": "child\n" });
  const changes = await collectChanges(copy);
  expect(await integrate({ copy, changes })).toMatchObject({ status: "merged" });
  expect(treeOf(outside)).toEqual({ "a.txt": "outside\n" });
  expect(treeOf(source)).toEqual({ "b.txt": "b\n", "dir/a.txt": "child\n" });
});

test("a folder that becomes a link while a merge waits is not written through", async () => {
  const outside = makeFolder();
  writeFiles(outside, { "a.txt": "outside\n", "new.txt": "outside\n" });
  const source = makeRepository({ "dir/a.txt": "a\n" });
  const copy = await createWorkingCopy({ source, id: "one", home: makeFolder() });
  writeFiles(copy.folder, { "dir/a.txt": "child\n", "top.txt": "child\n" });
  const changes = await collectChanges(copy);
  const before = fingerprint(outside);
  const swap = async () => {
    writeFiles(source, { dir: { link: outside } });
    return { passed: true } as const;
  };
  const result = await integrate({ copy, changes, check: swap });
  expect(result.status).not.toBe("merged");
  expect(fingerprint(outside)).toBe(before);
  expect(treeOf(source)).not.toHaveProperty("top.txt");
});

test("replaced objects and a foreign index are not believed", async () => {
  const source = makeRepository({ "a.txt": "a\n" });
  const original = git(source, "rev-parse", "HEAD");
  writeFiles(source, { "a.txt": "other\n" });
  commitAll(source);
  git(source, "replace", git(source, "rev-parse", "HEAD"), original);
  const copy = await createWorkingCopy({ source, id: "one", home: makeFolder() });
  expect(treeOf(copy.folder)).toEqual({ "a.txt": "other\n" });
});
