import { expect, test } from "vitest";
import { controlRunId } from "../../ports/identity.ts";
import { assertSound, collect } from "../../testing/stored-run.ts";
import { leaveWork, openShelf, type Shelf } from "../../testing/stored-work.test-support.ts";
import {
  makeRepository,
  treeOf,
  writeFiles,
} from "../../workspaces/git/repository.test-support.ts";
import { KeptWork } from "./kept-work.ts";

const ann = { id: "ann", role: "operator" } as const;
const place = { guarded: [], checksFor: () => async () => ({ passed: true }) as const };

async function decisions({ store }: Shelf): Promise<readonly unknown[]> {
  const events = await collect(store, { runId: controlRunId });
  return events.map(({ payload }) => payload);
}

function leave(shelf: Shelf, source: string, text = "the child's\n") {
  return leaveWork(shelf, source, ({ root }) => writeFiles(root, { "a.txt": text }));
}

test("what a person decides is in the control log, with who it was and what came of it", async () => {
  const shelf = openShelf();
  const source = makeRepository();
  const work = new KeptWork(shelf);
  const { id, run } = await leave(shelf, source);
  writeFiles(source, { "a.txt": "the person's\n" });
  await work.merge(id, ann, place);
  writeFiles(source, { "a.txt": "a\n" });
  await work.merge(run.id, ann, place, { anyPath: true, skipChecks: true });
  const second = await leave(shelf, source, "another child's\n");
  await work.discard(second.id, ann);
  await work.discard(second.id, ann, { deleteChanges: true });
  expect(await decisions(shelf)).toEqual([
    { command: `merge ${id}`, actor: "ann", outcome: "conflict" },
    { command: `merge ${id} --any-path --skip-checks`, actor: "ann", outcome: "merged" },
    { command: `discard ${second.id}`, actor: "ann", outcome: "kept" },
    { command: `discard ${second.id} --yes`, actor: "ann", outcome: "discarded" },
  ]);
  await expect(work.diff(id)).rejects.toMatchObject({ reason: "merged" });
  await expect(work.merge(second.id, ann, place)).rejects.toMatchObject({ reason: "discarded" });
  await assertSound(shelf.store);
});

test("who is no operator changes nothing, and that is in the log as well", async () => {
  const shelf = openShelf();
  const source = makeRepository();
  const work = new KeptWork(shelf);
  const { id } = await leave(shelf, source);
  const bob = { id: "bob", role: "viewer" } as const;
  const refused = { code: "refused-by-policy" };
  await expect(work.merge(id, bob, place)).rejects.toMatchObject(refused);
  await expect(work.discard(id, bob, { deleteChanges: true })).rejects.toMatchObject(refused);
  await expect(work.merge("nonsense", ann, place)).rejects.toThrow(/no run or delegation/);
  expect(await decisions(shelf)).toEqual([
    { command: `merge "${id}"`, actor: "bob", outcome: "refused" },
    { command: `discard "${id}" --yes`, actor: "bob", outcome: "refused" },
    { command: 'merge "nonsense"', actor: "ann", outcome: "unknown-delegation" },
  ]);
  expect(treeOf(source)).toEqual({ "a.txt": "a\n" });
  expect((await work.diff(id)).files).toHaveLength(1);
});
