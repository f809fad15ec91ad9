import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
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

/** Two siblings of one moment: what each wrote in its copy, and what happens between their merges. */
async function mergeBoth(
  written: readonly [Contents, Contents],
  between: (source: string) => void = () => undefined,
) {
  const source = makeRepository({ "a.txt": "a\n", "b.txt": "b\n" });
  const home = makeFolder();
  const [one, two] = await Promise.all(
    written.map(async (contents, index) => {
      const copy = await createWorkingCopy({ source, id: `child${index}`, home });
      writeFiles(copy.folder, contents);
      return { copy, changes: await collectChanges(copy) };
    }),
  );
  if (one === undefined || two === undefined) throw new Error("two siblings");
  expect(await integrate(one)).toMatchObject({ status: "merged" });
  between(source);
  const result = await integrate(two);
  return { home, result, tree: treeOf(source) };
}

test("what a person changes between two merges stays, where the second one does not touch it", async () => {
  const written = [{ "one.txt": "1\n" }, { "two.txt": "2\n" }] as const;
  const { result, tree } = await mergeBoth(written, (source) => {
    writeFiles(source, { "b.txt": "edited\n", "mine.txt": "mine\n" });
    rmSync(join(source, "one.txt"));
  });
  expect(result).toMatchObject({ status: "merged", files: [{ path: "two.txt" }] });
  expect(tree).toEqual({
    ...{ "a.txt": "a\n", "b.txt": "edited\n" },
    ...{ "mine.txt": "mine\n", "two.txt": "2\n" },
  });
});

test("what a person changes between two merges is merged or prevents the second one, where it touches it", async () => {
  const written = [{ "one.txt": "1\n" }, { "a.txt": "theirs\n" }] as const;
  const { result, tree } = await mergeBoth(written, (source) =>
    writeFiles(source, { "a.txt": "the person's\n" }),
  );
  expect(result).toMatchObject({ status: "conflict", files: ["a.txt"] });
  expect(tree).toMatchObject({ "a.txt": "the person's\n", "one.txt": "1\n" });
});

test("what both siblings wrote is written again when it was removed between their merges", async () => {
  const { result, tree } = await mergeBoth([{ "x.txt": "x\n" }, { "x.txt": "x\n" }], (source) =>
    rmSync(join(source, "x.txt")),
  );
  expect(result).toMatchObject({ status: "merged" });
  expect(tree).toMatchObject({ "x.txt": "x\n" });
});

test("files that the first one has ignored are the person's for the second one", async () => {
  const written = [{ ".gitignore": "mine.txt\n" }, { "two.txt": "2\n" }] as const;
  const { home, result, tree } = await mergeBoth(written, (source) =>
    writeFiles(source, { "mine.txt": "mine\n" }),
  );
  expect(result).toMatchObject({ status: "merged" });
  expect(tree).toMatchObject({ "mine.txt": "mine\n", "two.txt": "2\n" });
  await new WorkingCopies(home).settled();
  expect(existsSync(join(home, "merged"))).toBe(false);
});
