import { createHash } from "node:crypto";
import { existsSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { verifyCapture } from "../copies/capture-tree.ts";
import { collectChanges } from "../copies/collect-changes.ts";
import { createWorkingCopy } from "../copies/create-working-copy.ts";
import { WorkingCopies } from "../copies/working-copies.ts";
import {
  type Contents,
  makeFolder,
  makeRepository,
  treeOf,
  writeFiles,
} from "../repository.test-support.ts";
import { integrate } from "./integrate.ts";

/** Two children of one state change their copies, and are merged one after the other. */
async function mergeBoth(source: string, first: Contents, second: Contents) {
  const home = makeFolder();
  const one = await createWorkingCopy({ source, id: "one", home });
  const two = await createWorkingCopy({ source, id: "two", home });
  writeFiles(one.root, first);
  writeFiles(two.root, second);
  return [
    await integrate({ copy: one, changes: await collectChanges(one) }),
    await integrate({ copy: two, changes: await collectChanges(two) }),
  ];
}

test("a link that one child moves and another one turns leads out of nothing", async () => {
  const source = makeRepository({ t: "t", "a/b/t": "t", "a/b/l": { link: "t" } });
  const results = await mergeBoth(
    source,
    { "a/b/l": null, l: { link: "t" } },
    { "a/b/l": { link: "../../t" } },
  );
  expect(results).toMatchObject([{ status: "merged" }, { status: "refused", files: ["l"] }]);
  expect(treeOf(source)["l"]).toBe("-> t");
});

const head = { "evil/HEAD": "ref: refs/heads/main\n", "evil/config": "[core]\n\tbare = true\n" };
const rest = { "evil/objects/x": "", "evil/refs/x": "" };

test("a folder that git would take for a repository is not taken over", async () => {
  for (const files of [
    { ...head, ...rest },
    { ...head, "evil/commondir": "../other\n" },
    { "evil/head": "x\n", "evil/OBJECTS": { link: "../a.txt" }, "evil/Refs": { link: "../a.txt" } },
  ]) {
    const copy = await createWorkingCopy({
      source: makeRepository(),
      id: "one",
      home: makeFolder(),
    });
    writeFiles(copy.root, files);
    const changes = await collectChanges(copy);
    expect(changes.problems).toMatchObject([{ kind: "embedded-repository", paths: ["evil"] }]);
  }
});

test("nor is one that two children make together", async () => {
  const source = makeRepository();
  const results = await mergeBoth(source, head, rest);
  expect(results).toMatchObject([{ status: "merged" }, { status: "refused", files: ["evil"] }]);
  expect(existsSync(join(source, "evil/refs"))).toBe(false);
});

test("nor is one that a merge makes together with what is in no tree", async () => {
  const ignoring = { ".gitignore": "HEAD\n" };
  const cases = [
    { files: {}, made: ["objects", "refs"], headFile: false, brought: head },
    { files: ignoring, made: ["."], headFile: true, brought: rest },
  ];
  for (const { brought, files, headFile, made } of cases) {
    const source = makeRepository({ "a.txt": "a\n", ...files });
    const copy = await createWorkingCopy({ source, id: "one", home: makeFolder() });
    writeFiles(copy.root, brought);
    for (const name of made) mkdirSync(join(source, "evil", name), { recursive: true });
    if (headFile) writeFileSync(join(source, "evil/HEAD"), "ref: refs/heads/main\n");
    const result = await integrate({ copy, changes: await collectChanges(copy) });
    expect(result).toMatchObject({ status: "refused", files: ["evil"] });
  }
});

test("what must not change is asked about where a rename has brought it", async () => {
  const source = makeRepository({ "notes.md": "line\n".repeat(30) });
  const copy = await createWorkingCopy({ source, id: "one", home: makeFolder() });
  writeFiles(copy.root, { "notes.md": `${"line\n".repeat(30)}more\n` });
  mkdirSync(join(source, "kept"));
  renameSync(join(source, "notes.md"), join(source, "kept/notes.md"));
  const changes = await collectChanges(copy);
  const objectTo = (paths: readonly string[]) => `not ${paths.join()}`;
  expect(await integrate({ copy, changes, objectTo })).toMatchObject({
    ...{ status: "refused", reason: "problems", sentence: "not kept/notes.md" },
  });
  expect(treeOf(source)).toEqual({ "kept/notes.md": "line\n".repeat(30) });
});

test("who is stopped before the files are touched is not merged", async () => {
  const source = makeRepository();
  const copy = await createWorkingCopy({ source, id: "one", home: makeFolder() });
  writeFiles(copy.root, { "a.txt": "b\n" });
  const control = new AbortController();
  const changes = await collectChanges(copy);
  const objectTo = () => control.abort(new Error("stopped")) as undefined;
  const merging = integrate({ copy, changes, objectTo, signal: control.signal });
  await expect(merging).rejects.toThrow("stopped");
  expect(treeOf(source)).toEqual({ "a.txt": "a\n" });
});

test("more than is taken over is not looked at one by one", async () => {
  const copy = await createWorkingCopy({ source: makeRepository(), id: "one", home: makeFolder() });
  for (const name of ["x", "y", "z"]) symlinkSync("/etc/passwd", join(copy.root, name));
  const { problems } = await collectChanges(copy, { limits: { maximumFiles: 2 } });
  expect(problems).toMatchObject([{ kind: "too-many" }]);
});

test("a content counts only if the file itself has it, reached without a link", async () => {
  const place = makeFolder();
  const secrets = makeFolder();
  writeFiles(secrets, { key: "secret", same: "same" });
  writeFiles(place, { "d/key": "public", "d/same": "same", "\u00fc/f": "f" });
  const entry = (path: string, content: string) => ({
    path: Buffer.from(path).toString("latin1"),
    mode: "100644",
    object: createHash("sha1").update(`blob ${content.length}\0${content}`).digest("hex"),
  });
  const entries = [entry("d/key", "secret"), entry("d/same", "same"), entry("\u00fc/f", "f")];
  expect(await verifyCapture(place, entries, "sha1")).toEqual(["d/key"]);
  renameSync(join(place, "d"), join(place, "e"));
  symlinkSync(secrets, join(place, "d"));
  expect(await verifyCapture(place, entries, "sha1")).toEqual(["d/key", "d/same"]);
});

test("a copy that is taken before its removal is kept", async () => {
  const copies = new WorkingCopies(makeFolder());
  const copy = await copies.create({ source: makeRepository(), id: "one" });
  writeFileSync(join(copy.root, "late.txt"), "");
  copies.retire(copy, true);
  expect(copies.take("one").root).toBe(copy.root);
  await copies.settled();
  expect(existsSync(join(copy.root, "late.txt"))).toBe(true);
  copies.retire(copy, true);
  await copies.settled();
  expect(copies.has("one")).toBe(false);
});

test("a .git file that names another repository gives no access to it", async () => {
  const source = makeFolder();
  writeFiles(source, { ".git": `gitdir: ${join(makeRepository(), ".git")}\n`, "a.txt": "a\n" });
  const making = createWorkingCopy({ source, id: "one", home: makeFolder() });
  await expect(making).rejects.toMatchObject({ refusal: { code: "foreign-git-directory" } });
});

test("a workspace that has become a link to another folder is not copied", async () => {
  const around = makeFolder();
  const home = makeFolder();
  writeFiles(around, { "secret/key": "key", sub: { link: "secret" } });
  const making = new WorkingCopies(home).create({ source: join(around, "sub"), id: "one" });
  await expect(making).rejects.toMatchObject({ refusal: { code: "changed-meanwhile" } });
  expect(existsSync(join(home, "worktrees/one"))).toBe(false);
});
