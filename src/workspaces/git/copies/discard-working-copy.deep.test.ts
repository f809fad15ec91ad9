import { chmodSync, existsSync, mkdirSync, readdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { integrate } from "../integration/integrate.ts";
import { removeFolder } from "../remove-folder.ts";
import {
  fingerprint,
  git,
  makeFolder,
  makeRepository,
  writeFiles,
} from "../repository.test-support.ts";
import { collectChanges } from "./collect-changes.ts";
import { createWorkingCopy } from "./create-working-copy.ts";
import { discardWorkingCopy } from "./discard-working-copy.ts";
import { openWorkingCopy } from "./working-copy.ts";

async function copyOf(source = makeRepository(), id = "one", home = makeFolder()) {
  return createWorkingCopy({ source, id, home });
}

test("an untouched copy goes, and a merged one", async () => {
  const source = makeRepository();
  const home = makeFolder();
  const idle = await copyOf(source, "idle", home);
  expect(await discardWorkingCopy(idle)).toEqual({ status: "removed" });
  const merged = await copyOf(source, "merged", home);
  writeFiles(merged.folder, { "a.txt": "child\n" });
  await integrate({ copy: merged, changes: await collectChanges(merged) });
  expect(await discardWorkingCopy(merged)).toEqual({ status: "removed" });
  expect(readdirSync(join(home, "worktrees"))).toEqual([]);
  expect(readdirSync(join(home, "copies"))).toEqual([]);
  expect(() => openWorkingCopy(home, "merged")).toThrow(/no working copy "merged"/);
  expect(await discardWorkingCopy(merged)).toEqual({ status: "removed" });
});

test("unmerged work is kept and reported by default", async () => {
  const copy = await copyOf();
  writeFiles(copy.folder, { "a.txt": "child\n", "new.txt": "x\n" });
  const kept = await discardWorkingCopy(copy);
  expect(kept).toMatchObject({ status: "kept", files: [{ path: "a.txt" }, { path: "new.txt" }] });
  expect(openWorkingCopy(copy.home, copy.id)).toEqual(copy);
  const folder = await discardWorkingCopy(copy, { unmerged: "keep-commits" });
  expect(folder.status).toBe("removed-folder");
  expect(existsSync(copy.folder)).toBe(false);
  const vault = join(copy.home, "copies/one/vault.git");
  expect(git(vault, "show", "refs/mandate/one:new.txt")).toBe("x");
  expect(await discardWorkingCopy(copy, { unmerged: "delete" })).toEqual({ status: "removed" });
  expect(existsSync(vault)).toBe(false);
});

test("work done after a merge counts as not merged", async () => {
  const copy = await copyOf();
  writeFiles(copy.folder, { "a.txt": "child\n" });
  await integrate({ copy, changes: await collectChanges(copy) });
  writeFiles(copy.folder, { "a.txt": "later\n" });
  expect(await discardWorkingCopy(copy)).toMatchObject({ status: "kept" });
});

test("the ref of a conflict goes with the copy when everything is to go, and stays otherwise", async () => {
  const source = makeRepository();
  const copy = await copyOf(source);
  writeFiles(copy.folder, { "a.txt": "child\n" });
  writeFiles(source, { "a.txt": "person\n" });
  const result = await integrate({ copy, changes: await collectChanges(copy) });
  expect(result.status).toBe("conflict");
  await discardWorkingCopy(copy, { unmerged: "keep-commits" });
  expect(git(source, "show", "refs/mandate/one:a.txt")).toBe("child");
  await discardWorkingCopy(copy, { unmerged: "delete" });
  expect(git(source, "for-each-ref", "refs/mandate")).toBe("");
});

test("removing follows no link, opens closed folders, and touches nothing outside", async () => {
  const outside = makeFolder();
  writeFiles(outside, { "precious/x.txt": "precious\n" });
  const before = fingerprint(outside);
  const copy = await copyOf();
  writeFiles(copy.folder, {
    "link-to-folder": { link: outside },
    "link-to-file": { link: join(outside, "precious/x.txt") },
    "closed/inner/x": "x\n",
    up: { link: "../.." },
  });
  chmodSync(join(copy.folder, "closed/inner"), 0o500);
  chmodSync(join(copy.folder, "closed"), 0);
  await discardWorkingCopy(copy, { unmerged: "delete" });
  expect(existsSync(copy.folder)).toBe(false);
  expect(fingerprint(outside)).toBe(before);
});

test("only an entry of the folder that was named is removed", async () => {
  const folder = makeFolder();
  const outside = makeFolder();
  writeFiles(folder, { "a/x": "x", "b/y": "y" });
  for (const name of ["", ".", "..", "a/x", "../x", "/"]) {
    await expect(removeFolder(folder, name)).rejects.toThrow();
  }
  symlinkSync(outside, join(folder, "link"));
  await removeFolder(folder, "link");
  await removeFolder(folder, "missing");
  await removeFolder(folder, "a");
  expect(readdirSync(folder)).toEqual(["b"]);
  expect(existsSync(outside)).toBe(true);
  mkdirSync(join(folder, "c"));
});
