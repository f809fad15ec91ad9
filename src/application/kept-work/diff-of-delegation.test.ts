import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  git,
  makeExecutable,
  makeRepository,
  writeFiles,
} from "../../workspaces/git/repository.test-support.ts";
import { patchSections } from "./diff-of-delegation.ts";

function diffFor(
  before: Parameters<typeof writeFiles>[1],
  after: Parameters<typeof writeFiles>[1],
) {
  const folder = makeRepository(before);
  writeFiles(folder, after);
  git(folder, "add", "-A");
  return { folder, text: `${git(folder, "diff", "--cached", "--no-renames", "HEAD")}\n` };
}

test("what git counts is what is counted", () => {
  const { folder, text } = diffFor(
    { "a.txt": "one\ntwo\nthree\n", "b.txt": "b\n", "gone.txt": "x\ny\n", "e.txt": "" },
    {
      "a.txt": "one\n2\nthree\nfour",
      "gone.txt": null,
      "new.txt": "--- not a head\n+++ nor this\ndiff --git a/x b/x\n@@ -1 +1 @@\n",
      "b.txt": { link: "a.txt" },
      "e.txt": { link: "a.txt" },
    },
  );
  const { sections, isWhole } = patchSections(text);
  const counted = git(folder, "diff", "--cached", "--no-renames", "--numstat", "HEAD")
    .split("\n")
    .map((line) => line.split("\t"));
  expect(isWhole).toBe(true);
  expect(
    sections.map(({ path, lines }) => [String(lines?.added), String(lines?.removed), path]),
  ).toEqual(counted);
  expect(sections.map(({ change }) => change)).toEqual([
    ...["changed", "changed", "changed", "removed", "added"],
  ]);
});

test("names in quotes are read back, and what is no text has no lines", () => {
  const odd = 'ü "quoted"\t\\ end';
  const { text } = diffFor({}, { [odd]: "1\n", "a b/c b.txt": "2\n", "image.bin": "\0\u0001\n" });
  expect(patchSections(text).sections).toEqual([
    { path: "a b/c b.txt", change: "added", lines: { added: 1, removed: 0 } },
    { path: "image.bin", change: "added", lines: null },
    { path: odd, change: "added", lines: { added: 1, removed: 0 } },
  ]);
});

test("a mode that changed is a change without lines", () => {
  const folder = makeRepository({ "run.sh": "echo\n" });
  makeExecutable(join(folder, "run.sh"));
  expect(readFileSync(join(folder, "run.sh"), "utf8")).toBe("echo\n");
  const text = git(folder, "diff");
  expect(patchSections(text).sections).toEqual([
    { path: "run.sh", change: "changed", lines: { added: 0, removed: 0 } },
  ]);
});

test("every cut inside of a hunk is noticed", () => {
  const { text } = diffFor({ "a.txt": "1\n2\n3\n" }, { "a.txt": "1\n3\n4\n" });
  const lines = text.trimEnd().split("\n");
  const head = lines.findIndex((line) => line.startsWith("@@"));
  for (let end = head + 1; end < lines.length; end++) {
    expect(patchSections(`${lines.slice(0, end).join("\n")}\n`).isWhole).toBe(false);
  }
  expect(patchSections(text).isWhole).toBe(true);
  expect(patchSections("")).toEqual({ sections: [], isWhole: true });
});
