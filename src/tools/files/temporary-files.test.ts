import { readdirSync } from "node:fs";
import { expect, test } from "vitest";
import { collectChanges } from "../../workspaces/git/copies/collect-changes.ts";
import { createWorkingCopy } from "../../workspaces/git/copies/create-working-copy.ts";
import {
  makeFolder,
  makeRepository,
  treeOf,
  writeFiles,
} from "../../workspaces/git/repository.test-support.ts";
import { temporaryName } from "../../workspaces/open-file.ts";
import { editFile } from "./edit-file.ts";
import { callTool, contextFor, makeTree } from "./file-tool.test-support.ts";
import { globFiles } from "./glob-files.ts";
import { createGrepFiles } from "./grep-files.ts";
import { listFiles } from "./list-files.ts";
import { readFile } from "./read-file.ts";
import { writeFile } from "./write-file.ts";

const grepFiles = createGrepFiles();

test("no tool shows the file in which a sibling's new content is written", async () => {
  const name = temporaryName();
  const context = contextFor(
    makeTree({ [name]: "half", [`src/${name}`]: "half", "src/a": "half" }),
  );
  const said = async (tool: Parameters<typeof callTool>[0], input: object) =>
    (await callTool(tool, input, context)).text;
  expect(await said(listFiles, { path: ".", recursive: true })).toBe("src/\nsrc/a");
  expect(await said(globFiles, { pattern: "**/*", include_ignored: true })).toContain("src/a");
  expect(await said(globFiles, { pattern: "**/.*" })).not.toContain(name);
  expect(await said(grepFiles, { pattern: "half", include_ignored: true })).not.toContain(name);
  expect(await said(grepFiles, { pattern: "half" })).toContain("src/a");
  expect(await callTool(readFile, { path: `src/${name}` }, context)).toMatchObject({
    ...{ isError: true, text: expect.stringContaining("There is no") },
  });
});

test("no agent gives a file of its own such a name", async () => {
  const root = makeTree();
  const name = temporaryName();
  for (const path of [name, `a/${name}`, name.toUpperCase()]) {
    const input = { path, content: "x" };
    await expect(callTool(writeFile, input, contextFor(root))).rejects.toMatchObject({
      rule: "path_protected",
    });
  }
  const edit = { path: name, old_text: "a", new_text: "b" };
  await expect(callTool(editFile, edit, contextFor(root))).rejects.toThrow();
  expect(readdirSync(root)).toEqual([]);
  const twin = { path: ".mandate-notes.tmp", content: "x" };
  expect(await callTool(writeFile, twin, contextFor(root))).not.toHaveProperty("isError");
});

test("no copy and no merge takes one along, whatever is ignored", async () => {
  const name = temporaryName();
  const source = makeRepository({ ".gitignore": "!.mandate-*.tmp\n" });
  writeFiles(source, { [name]: "half" });
  const copy = await createWorkingCopy({ source, id: "one", home: makeFolder() });
  expect(treeOf(copy.root)).not.toHaveProperty([name]);
  writeFiles(copy.root, { [temporaryName()]: "half", "new.txt": "new" });
  const { files, problems } = await collectChanges(copy);
  expect(files.map(({ path }) => path)).toEqual(["new.txt"]);
  expect(problems).toEqual([]);
});
