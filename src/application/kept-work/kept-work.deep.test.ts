import { existsSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { MandateErrorCode, NoWorkReason } from "../../ports/mandate-error.ts";
import { StoredRun } from "../../testing/stored-run.ts";
import {
  closeChild,
  leaveWork,
  openShelf,
  type Shelf,
  startChild,
} from "../../testing/stored-work.test-support.ts";
import { createWorkingCopy } from "../../workspaces/git/copies/create-working-copy.ts";
import { discardWorkingCopy } from "../../workspaces/git/copies/discard-working-copy.ts";
import { listWorkingCopies } from "../../workspaces/git/copies/list-working-copies.ts";
import { WorkingCopies } from "../../workspaces/git/copies/working-copies.ts";
import { layoutOf } from "../../workspaces/git/copies/working-copy.ts";
import {
  commitAll,
  fingerprint,
  git,
  makeFolder,
  makeRepository,
  treeOf,
  writeFiles,
} from "../../workspaces/git/repository.test-support.ts";
import { diffOfDelegation } from "./diff-of-delegation.ts";
import { discardKept, type MergeOptions, type MergeParts, mergeKept } from "./kept-work.ts";

async function refusal(promise: Promise<unknown>): Promise<Record<string, unknown>> {
  const error: unknown = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(Error);
  return error as Record<string, unknown>;
}

/** Where nothing is guarded, and no check passes unless the test says otherwise. */
function merge(
  parts: Shelf & Partial<MergeParts>,
  id: string,
  options: MergeOptions = {},
): ReturnType<typeof mergeKept> {
  const checksFor = () => async () => ({ passed: false, reason: "nobody runs it" }) as const;
  return mergeKept({ guarded: [], checksFor, ...parts }, id, options);
}

const code = (value: MandateErrorCode, message: RegExp) => ({
  code: value,
  message: expect.stringMatching(message),
});

const none = (reason: NoWorkReason) => ({ code: "no-kept-work", reason });

test("the diff is that of the copy while there is one, also of a child at work", async () => {
  const shelf = openShelf();
  const source = makeRepository({ "a.txt": "a\n", "b.txt": "b\n" });
  const run = await StoredRun.start(shelf.store);
  const { id, copy } = await startChild(shelf, run, { source });
  expect(await diffOfDelegation(shelf, id)).toMatchObject({
    files: [],
    text: "",
    truncated: false,
  });
  writeFiles(copy.root, { "a.txt": "a\nmore\n", "b.txt": null, "c/d.txt": "new\n" });
  const diff = await diffOfDelegation(shelf, id);
  expect(diff).toMatchObject({
    ...{ runId: run.id, delegationId: id, status: "running", source: "copy", truncated: false },
    files: [
      { path: "a.txt", change: "changed", lines: { added: 1, removed: 0 } },
      { path: "b.txt", change: "removed", lines: { added: 0, removed: 1 } },
      { path: "c/d.txt", change: "added", lines: { added: 1, removed: 0 } },
    ],
    problems: [],
  });
  expect(diff.text).toContain("+more");
  // The copy was only looked at: the person's folder has nothing of it.
  expect(treeOf(source)).toEqual({ "a.txt": "a\n", "b.txt": "b\n" });
  const short = await diffOfDelegation(shelf, id, { maximumBytes: 200 });
  expect(short.truncated).toBe(true);
  expect(short.files.map(({ lines }) => lines).at(-1)).toBe(null);
});

test("a workspace that is a part of a repository is told by paths of the whole", async () => {
  const shelf = openShelf();
  const source = join(makeRepository({ "web/a.txt": "a\n" }), "web");
  const { id } = await leaveWork(shelf, source, ({ root }) => writeFiles(root, { "a.txt": "b\n" }));
  const { files, text } = await diffOfDelegation(shelf, id);
  expect(files).toEqual([
    { path: "web/a.txt", change: "changed", lines: { added: 1, removed: 1 } },
  ]);
  expect(text).toContain("+++ b/web/a.txt");
});

test("what cannot be merged is told with the diff", async () => {
  const shelf = openShelf();
  const { id } = await leaveWork(shelf, makeRepository(), ({ root }) => {
    symlinkSync("/etc/passwd", join(root, "way-out"));
  });
  const { problems } = await diffOfDelegation(shelf, id);
  expect(problems).toEqual([expect.stringContaining("way-out")]);
});

test("the diff of what was merged comes from the log", async () => {
  const shelf = openShelf();
  const run = await StoredRun.start(shelf.store);
  const source = makeRepository();
  const { id, copy } = await startChild(shelf, run, { source });
  writeFiles(copy.root, { "a.txt": "b\n" });
  const { text } = await diffOfDelegation(shelf, id);
  const diff = await shelf.store.keepArtifact(text);
  const files = [{ path: "a.txt", before: "0", after: "1" }];
  const merged = { strategy: "fast-forward", conflicted_files: [], commit: "c", files, diff };
  await closeChild(run, id, "completed", merged);
  await new WorkingCopies(shelf.home).remove(copy);
  const about = { source: "log", status: "completed", text, truncated: false };
  expect(await diffOfDelegation(shelf, id)).toMatchObject({
    ...about,
    files: [{ path: "a.txt", change: "changed", lines: { added: 1, removed: 1 } }],
  });
  expect(await diffOfDelegation(shelf, run.id)).toMatchObject(about);
  expect(await refusal(merge(shelf, id))).toMatchObject(none("merged"));
});

test("where there is nothing, it is said which nothing it is", async () => {
  const shelf = openShelf();
  const run = await StoredRun.start(shelf.store);
  const source = makeRepository();
  const inPlace = await startChild(shelf, run);
  const readOnly = await startChild(shelf, run, { workspace: { allow_writes: false } });
  const unmade = await startChild(shelf, run, {
    workspace: { isolation: "sandbox", copy: { id: "abcdef", of: source } },
  });
  const unchanged = await startChild(shelf, run, { source });
  await closeChild(run, unchanged.id);
  await new WorkingCopies(shelf.home).remove(unchanged.copy);
  const lost = await startChild(shelf, run, { source });
  const diff = { hash: "0".repeat(64), bytes: 1 };
  const merge = { strategy: "three-way", conflicted_files: [], commit: "c", diff };
  await closeChild(run, lost.id, "completed", merge);
  await new WorkingCopies(shelf.home).remove(lost.copy);
  const expected = [
    [inPlace.id, none("in-place")],
    [readOnly.id, none("read-only")],
    [unmade.id, none("not-started")],
    [unchanged.id, none("unchanged")],
    [lost.id, none("lost")],
    ["ffffff", code("unknown-delegation", /no run or delegation "ffffff"/)],
    ["../../x", code("unknown-delegation", /no run or delegation/)],
  ] as const;
  for (const [id, error] of expected) {
    expect(await refusal(diffOfDelegation(shelf, id)), id).toMatchObject(error);
  }
});

test("kept work is merged into the folder it was made for, and the copy goes", async () => {
  const shelf = openShelf();
  const source = makeRepository({ "a.txt": "1\n2\n3\n4\n5\n", "mine.txt": "mine\n" });
  const { id, copy } = await leaveWork(shelf, source, ({ root }) => {
    writeFiles(root, { "a.txt": "one\n2\n3\n4\n5\n", "new.txt": "new\n" });
  });
  writeFiles(source, { "a.txt": "1\n2\n3\n4\nfive\n", "mine.txt": "edited meanwhile\n" });
  const result = await merge(shelf, id);
  expect(result).toMatchObject({
    ...{ status: "merged", how: "three-way", delegationId: id, into: source, copy: "removed" },
    files: [{ path: "a.txt" }, { path: "new.txt", before: null }],
  });
  expect(treeOf(source)).toEqual({
    "a.txt": "one\n2\n3\n4\nfive\n",
    "mine.txt": "edited meanwhile\n",
    "new.txt": "new\n",
  });
  expect(listWorkingCopies(shelf.home)).toEqual([]);
  expect(existsSync(copy.folder)).toBe(false);
});

test("a conflict changes nothing, names the files and keeps the work; mended, it goes through", async () => {
  const shelf = openShelf();
  const source = makeRepository({ "a.txt": "old\n" });
  const { id } = await leaveWork(shelf, source, ({ root }) => {
    writeFiles(root, { "a.txt": "the child's\n" });
  });
  writeFiles(source, { "a.txt": "the person's\n" });
  expect(await merge(shelf, id)).toMatchObject({
    ...{ status: "conflict", files: ["a.txt"], ref: `refs/mandate/${id}`, copy: "kept" },
  });
  expect(treeOf(source)).toEqual({ "a.txt": "the person's\n" });
  expect(git(source, "for-each-ref", "refs/mandate")).toContain(`refs/mandate/${id}`);
  writeFiles(source, { "a.txt": "old\n" });
  expect(await merge(shelf, id)).toMatchObject({ status: "merged", copy: "removed" });
  expect(treeOf(source)).toEqual({ "a.txt": "the child's\n" });
  expect(git(source, "for-each-ref", "refs/mandate")).toBe("");
});

test("what its step does not own is merged only when the person says so", async () => {
  const shelf = openShelf();
  const source = makeRepository({ "src/a.txt": "a\n", "b.txt": "b\n" });
  const work = { "src/a.txt": "changed\n", "b.txt": "changed\n" };
  const { id } = await leaveWork(shelf, source, ({ root }) => writeFiles(root, work), {
    owns: ["src/**"],
  });
  const before = treeOf(source);
  expect(await merge(shelf, id)).toMatchObject({
    ...{ status: "violation", files: ["b.txt"], copy: "kept" },
  });
  expect(treeOf(source)).toEqual(before);
  expect(await merge(shelf, id, { anyPath: true })).toMatchObject({ status: "merged" });
  expect(treeOf(source)).toEqual(work);
});

test("checks of the contract are run on the merged files, unless the person waives them", async () => {
  const shelf = openShelf();
  const source = makeRepository({ "a.txt": "a\n" });
  const { id } = await leaveWork(
    shelf,
    source,
    ({ root }) => writeFiles(root, { "a.txt": "b\n" }),
    { checks: ["npm test"] },
  );
  const seen: unknown[] = [];
  const judge = (passed: boolean) => ({
    ...shelf,
    checksFor: (commands: readonly string[]) => async (merged: { readonly root: string }) => {
      seen.push([...commands, readFileSync(join(merged.root, "a.txt"), "utf8")]);
      return passed ? { passed } : { passed, reason: "a test is red" };
    },
  });
  expect(await merge(judge(false), id)).toMatchObject({
    ...{ status: "refused", reason: "check-failed", copy: "kept" },
    sentence: expect.stringContaining("a test is red"),
  });
  expect(seen).toEqual([["npm test", "b\n"]]);
  expect(treeOf(source)).toEqual({ "a.txt": "a\n" });
  expect(await merge(shelf, id, { skipChecks: true })).toMatchObject({ status: "merged" });
  expect(treeOf(source)).toEqual({ "a.txt": "b\n" });
});

test("what the next start obeys is merged only when the person says so", async () => {
  const shelf = openShelf();
  const source = makeRepository({ "web/a.txt": "a\n" });
  const folder = join(source, "web");
  const { id } = await leaveWork(shelf, folder, ({ root }) => {
    writeFiles(root, { ".mandate/agents/helper.md": "obey me\n", "a.txt": "b\n" });
  });
  const parts = { ...shelf, guarded: [join(folder, ".mandate"), join(folder, "profiles")] };
  expect(await refusal(merge(parts, id, { anyPath: true }))).toMatchObject(
    code("refused-by-policy", /"\.mandate\/agents\/helper\.md".*program reads as configuration/),
  );
  expect(treeOf(source)).toEqual({ "web/a.txt": "a\n" });
  expect(await merge(parts, id, { withConfiguration: true })).toMatchObject({
    status: "merged",
  });
  expect(treeOf(folder)).toHaveProperty([".mandate/agents/helper.md"], "obey me\n");
});

test("nobody merges or discards what an open delegation works on", async () => {
  const shelf = openShelf();
  const source = makeRepository();
  const { id, copy } = await leaveWork(shelf, source, ({ root }) => {
    writeFiles(root, { "a.txt": "b\n" });
  });
  const again = await StoredRun.start(shelf.store);
  const second = await startChild(shelf, again, { copy });
  const before = fingerprint(copy.folder);
  const continues = code("conflict", new RegExp(`${second.id} continues the work of ${id}`));
  const open = code("conflict", new RegExp(`${second.id} has not ended yet`));
  const decisions = [
    (which: string) => merge(shelf, which),
    (which: string) => discardKept(shelf, which, { deleteChanges: true }),
  ];
  for (const decide of decisions) {
    expect(await refusal(decide(id))).toMatchObject(continues);
    expect(await refusal(decide(second.id))).toMatchObject(open);
  }
  expect(fingerprint(copy.folder)).toBe(before);
  await closeChild(again, second.id);
  expect(await merge(shelf, second.id)).toMatchObject({ status: "merged", copy: "removed" });
  expect(treeOf(source)).toEqual({ "a.txt": "b\n" });
});

test("a decision waits for whoever holds the copy, and looks again then", async () => {
  const shelf = openShelf();
  const { id, copy } = await leaveWork(shelf, makeRepository(), ({ root }) => {
    writeFiles(root, { "a.txt": "b\n" });
  });
  const again = await StoredRun.start(shelf.store);
  let merging: Promise<unknown> = Promise.resolve();
  // As a resumption does it: the contract that names the copy is stored while the copy is held.
  await new WorkingCopies(shelf.home).holding(copy.id, async () => {
    merging = refusal(merge(shelf, id));
    await new Promise((resolve) => setTimeout(resolve, 50));
    await startChild(shelf, again, { copy });
  });
  expect(await merging).toMatchObject(code("conflict", /continues the work/));
  expect(existsSync(copy.folder)).toBe(true);
});

test("discarding says what would be lost, and loses it only when told so", async () => {
  const shelf = openShelf();
  const source = makeRepository({ "a.txt": "old\n" });
  const { id, run } = await leaveWork(shelf, source, ({ root }) => {
    writeFiles(root, { "a.txt": "new\n", "b.txt": "b\n" });
  });
  writeFiles(source, { "a.txt": "mine\n" });
  await merge(shelf, id);
  commitAll(source);
  expect(await discardKept(shelf, id)).toMatchObject({
    ...{ status: "kept", files: ["a.txt", "b.txt"] },
    sentence: expect.stringMatching(/"a\.txt", "b\.txt".*not merged/),
  });
  expect(await diffOfDelegation(shelf, id)).toMatchObject({ source: "copy" });
  expect(await discardKept(shelf, run.id, { deleteChanges: true })).toEqual({
    ...{ status: "discarded", delegationId: id, files: ["a.txt", "b.txt"] },
  });
  expect(git(source, "for-each-ref", "refs/mandate")).toBe("");
  expect(treeOf(source)).toEqual({ "a.txt": "mine\n" });
  expect(listWorkingCopies(shelf.home)).toEqual([]);
  expect(existsSync(layoutOf(shelf.home, id).own)).toBe(false);
  expect(await refusal(discardKept(shelf, id))).toMatchObject(none("unchanged"));
});

test("a copy without changes goes without a question", async () => {
  const shelf = openShelf();
  const { id } = await leaveWork(shelf, makeRepository(), () => undefined);
  expect(await discardKept(shelf, id)).toMatchObject({ status: "discarded", files: [] });
  expect(listWorkingCopies(shelf.home)).toEqual([]);
});

test("the id of a run means its root, or the one child that has work; several are named", async () => {
  const shelf = openShelf();
  const run = await StoredRun.start(shelf.store);
  const root = await startChild(shelf, run);
  const source = makeRepository();
  expect(await refusal(diffOfDelegation(shelf, run.id))).toMatchObject({
    ...none("in-place"),
    delegationId: root.id,
  });
  const leave = async (title: string) => {
    const child = await startChild(shelf, run, { source, parentId: root.id, title });
    writeFiles(child.copy.root, { [`${title}.txt`]: "x\n" });
    await closeChild(run, child.id);
    return child.id;
  };
  const first = await leave("first");
  expect(await diffOfDelegation(shelf, run.id)).toMatchObject({ delegationId: first });
  const second = await leave("second");
  for (const ask of [diffOfDelegation, merge, discardKept]) {
    const error = await refusal(ask(shelf, run.id));
    expect(error).toMatchObject(code("usage", /work of 2 delegations/));
    for (const text of [first, second, "first", "second"]) expect(error["message"]).toContain(text);
  }
  expect(await merge(shelf, second)).toMatchObject({ status: "merged" });
  expect(await merge(shelf, run.id)).toMatchObject({ status: "merged", delegationId: first });
  expect(treeOf(source)).toEqual({ "a.txt": "a\n", "first.txt": "x\n", "second.txt": "x\n" });
});

test("work on top of other work is merged into that, and neither is lost on the way", async () => {
  const shelf = openShelf();
  const source = makeRepository({ "a.txt": "a\n" });
  const run = await StoredRun.start(shelf.store);
  const parent = await startChild(shelf, run, { source });
  writeFiles(parent.copy.root, { "parent.txt": "p\n" });
  const child = await startChild(shelf, run, { source: parent.copy.root, parentId: parent.id });
  writeFiles(child.copy.root, { "child.txt": "c\n" });
  await closeChild(run, child.id);
  expect(await refusal(merge(shelf, child.id))).toMatchObject(
    code("conflict", new RegExp(`Wait until ${parent.id} has ended`)),
  );
  await closeChild(run, parent.id);
  const guarded = [join(source, "child.txt")];
  expect(await refusal(merge({ ...shelf, guarded }, child.id))).toMatchObject(
    code("refused-by-policy", /"child\.txt".*program reads as configuration/),
  );
  expect(await refusal(discardKept(shelf, parent.id, { deleteChanges: true }))).toMatchObject(
    code("conflict", new RegExp(`${child.id} was made on top of that of ${parent.id}`)),
  );
  expect(await merge(shelf, child.id)).toMatchObject({
    ...{ status: "merged", into: parent.copy.root, copy: "removed" },
  });
  expect(treeOf(source)).toEqual({ "a.txt": "a\n" });
  expect(await merge(shelf, parent.id)).toMatchObject({ status: "merged", into: source });
  expect(treeOf(source)).toEqual({ "a.txt": "a\n", "child.txt": "c\n", "parent.txt": "p\n" });
  expect(listWorkingCopies(shelf.home)).toEqual([]);
});

test("work on top of work that is gone is for the person to take over, and is not lost", async () => {
  const shelf = openShelf();
  const run = await StoredRun.start(shelf.store);
  const parent = await startChild(shelf, run, { source: makeRepository() });
  writeFiles(parent.copy.root, { "parent.txt": "p\n" });
  const child = await startChild(shelf, run, { source: parent.copy.root, parentId: parent.id });
  writeFiles(child.copy.root, { "parent.txt": "c\n" });
  await closeChild(run, child.id);
  await closeChild(run, parent.id, "completed");
  await discardWorkingCopy(parent.copy, { unmerged: "delete" });
  expect(await refusal(merge(shelf, child.id))).toMatchObject(
    code("conflict", new RegExp(`copy of ${parent.id} is gone.*git apply`)),
  );
  expect((await diffOfDelegation(shelf, child.id)).text).toContain("-p\n+c\n");
});

test("where the folder is gone, merging says so, and the work can still be seen and discarded", async () => {
  const shelf = openShelf();
  const run = await StoredRun.start(shelf.store);
  const around = makeFolder();
  const source = join(around, "plain");
  writeFiles(source, { "a.txt": "a\n" });
  const { id, copy } = await startChild(shelf, run, { source });
  writeFiles(copy.root, { "a.txt": "b\n" });
  await closeChild(run, id);
  writeFiles(around, { plain: null });
  expect(await merge(shelf, id)).toMatchObject({ status: "refused", copy: "kept" });
  expect((await diffOfDelegation(shelf, id)).text).toContain("+b");
  expect(await discardKept(shelf, id, { deleteChanges: true })).toMatchObject({
    ...{ status: "discarded", files: ["a.txt"] },
  });
});

test("a copy of the same id that another database made is nobody's here", async () => {
  const shelf = openShelf();
  const source = makeRepository();
  const { id, copy } = await leaveWork(shelf, source, () => undefined);
  await new WorkingCopies(shelf.home).remove(copy);
  commitAll(source, "later");
  await createWorkingCopy({ source, id, home: shelf.home });
  for (const ask of [diffOfDelegation, merge, discardKept]) {
    expect(await refusal(ask(shelf, id))).toMatchObject(none("unchanged"));
  }
  expect(listWorkingCopies(shelf.home)).toEqual([id]);
});
