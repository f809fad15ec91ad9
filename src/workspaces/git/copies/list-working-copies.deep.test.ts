import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { repeatBeside } from "../../busy-thread.test-support.ts";
import { makeFolder, makeRepository, treeOf, writeFiles } from "../repository.test-support.ts";
import { createWorkingCopy } from "./create-working-copy.ts";
import { listWorkingCopies, sweepWorkingCopies } from "./list-working-copies.ts";
import { WorkingCopies } from "./working-copies.ts";
import { beginCopy } from "./working-copy.ts";

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

test("an unfinished copy is created again under the same id", async () => {
  const home = makeFolder();
  writeFiles(home, { "worktrees/one/stale.txt": "stale", "copies/one/vault.git/HEAD": "stale" });
  const copy = await createWorkingCopy({ source: makeRepository(), id: "one", home });
  expect(treeOf(copy.folder)).toEqual({ "a.txt": "a\n" });
});

test("a copy that is being made is never there without its holder", async () => {
  const home = makeFolder();
  const copies = join(home, "copies");
  const elsewhere = makeFolder();
  mkdirSync(copies);
  // Whoever finds one without a holder sweeps it away; here it only says so.
  const body = `
    for (const name of fs.readdirSync(place)) {
      if (name.includes(".")) continue;
      const holder = place + "/" + name + "/holder";
      if (fs.existsSync(holder) || !fs.existsSync(place + "/" + name)) continue;
      fs.writeFileSync(place + "/../found-" + name, "");
    }`;
  let made = 0;
  const work = () => {
    const id = `c${made++}`;
    beginCopy(home, id);
    renameSync(join(copies, id), join(elsewhere, id));
  };
  await repeatBeside(body, copies, work, 50);
  expect(readdirSync(home)).toEqual(["copies"]);
});

test("a copy that becomes whole while others are swept away stays", async () => {
  const home = makeFolder();
  const copy = await createWorkingCopy({ source: makeRepository(), id: "late", home });
  const own = join(home, "copies/late");
  renameSync(join(own, "copy.json"), join(home, "aside"));
  rmSync(join(own, "holder"));
  writeFiles(home, { "worktrees/.removing-x-1/deep/file": "x" });
  const sweeping = sweepWorkingCopies(home);
  renameSync(join(home, "aside"), join(own, "copy.json"));
  expect(await sweeping).toHaveLength(1);
  expect(treeOf(copy.folder)).toEqual({ "a.txt": "a\n" });
});

test("a copy whose record cannot be read keeps no other one from being tidied up", async () => {
  const home = makeFolder();
  const copies = new WorkingCopies(home);
  const source = makeRepository();
  for (const id of ["damaged", "one", "two"]) await copies.create({ source, id });
  writeFileSync(join(home, "copies/damaged/copy.json"), '{"version":1,"id":"dam');
  copies.retire(copies.take("one"));
  await copies.settled();
  expect(listWorkingCopies(home)).toEqual(["damaged", "two"]);
  // Whoever had it is gone.
  rmSync(join(home, "copies/two/holder"));
  await copies.tidy(async () => new Set());
  expect(listWorkingCopies(home)).toEqual(["damaged"]);
  expect(existsSync(join(home, "worktrees/damaged/a.txt"))).toBe(true);
});
