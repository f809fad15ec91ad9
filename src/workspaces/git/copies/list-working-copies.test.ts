import { existsSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { makeFolder, makeRepository, treeOf, writeFiles } from "../repository.test-support.ts";
import { createWorkingCopy } from "./create-working-copy.ts";
import { listWorkingCopies, sweepWorkingCopies } from "./list-working-copies.ts";

test("copies are listed, and what was left of unfinished ones is swept away", async () => {
  const home = makeFolder();
  expect(listWorkingCopies(home)).toEqual([]);
  const source = makeRepository();
  const whole = await createWorkingCopy({ source, id: "whole", home });
  await createWorkingCopy({ source, id: "half", home });
  rmSync(join(home, "copies/half/copy.json"));
  // Whoever was making it is gone.
  rmSync(join(home, "copies/half/holder"));
  mkdirSync(join(home, "worktrees/whole.merged"));
  writeFiles(home, { "worktrees/.removing-x-1/file": "x" });
  expect(listWorkingCopies(home)).toEqual(["whole"]);
  expect(await sweepWorkingCopies(home)).toHaveLength(4);
  expect(await sweepWorkingCopies(home)).toEqual([]);
  expect(treeOf(whole.folder)).toEqual({ "a.txt": "a\n" });
  expect(existsSync(join(home, "copies/half"))).toBe(false);
});

test("a copy that was left unfinished is made anew under the same id", async () => {
  const home = makeFolder();
  writeFiles(home, { "worktrees/one/stale.txt": "stale", "copies/one/vault.git/HEAD": "stale" });
  const copy = await createWorkingCopy({ source: makeRepository(), id: "one", home });
  expect(treeOf(copy.folder)).toEqual({ "a.txt": "a\n" });
});
