import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { testFolder } from "../../testing/test-folder.test-support.ts";
import { bindWorkspace } from "../../workspaces/bind-workspace.ts";
import type { ToolContext } from "../tool.ts";
import { listFiles } from "./list-files.ts";

let root: string;

beforeEach(() => {
  root = testFolder();
  for (const folder of ["src/deep", ".git/objects", "node_modules/zod", "empty"]) {
    mkdirSync(join(root, folder), { recursive: true });
  }
  for (const file of ["b.txt", "a.txt", "src/x.ts", "src/deep/y.ts", "node_modules/zod/index.js"]) {
    writeFileSync(join(root, file), "");
  }
});

function list(input: object = {}) {
  const workspace = bindWorkspace({ root, isolation: "shared", allowWrites: false });
  const { signal } = new AbortController();
  const context = { runId: "r", delegationId: "d", callId: "c", workspace, signal } as ToolContext;
  return listFiles.execute(listFiles.input.parse(input), context);
}

test("one level, sorted, folders with a slash", async () => {
  expect(await list()).toBe(".git/\na.txt\nb.txt\nempty/\nnode_modules/\nsrc/");
  expect(await list({ path: "src" })).toBe("src/deep/\nsrc/x.ts");
});

test("recursive lists paths that can be read as they are, and leaves the usual heaps closed", async () => {
  expect(await list({ recursive: true })).toBe(
    ".git/\na.txt\nb.txt\nempty/\nnode_modules/\nsrc/\nsrc/deep/\nsrc/deep/y.ts\nsrc/x.ts",
  );
  expect(await list({ path: "node_modules", recursive: true })).toBe(
    "node_modules/zod/\nnode_modules/zod/index.js",
  );
});

test("the limit keeps what is nearest and says that there is more", async () => {
  const text = await list({ recursive: true, limit: 6 });
  expect(text).toMatch(
    /^\.git\/\na\.txt\nb\.txt\nempty\/\nnode_modules\/\nsrc\/\n\[6 entries shown/,
  );
  expect(await list({ limit: 6 })).not.toContain("[");
});

test("links are shown with what they say and never entered", async () => {
  symlinkSync("..", join(root, "src/deep/up"));
  symlinkSync("/etc", join(root, "src/deep/etc"));
  expect(await list({ path: "src/deep", recursive: true })).toBe(
    "src/deep/etc -> /etc\nsrc/deep/up -> ..\nsrc/deep/y.ts",
  );
});

test("a name with a line break cannot pass for two entries", async () => {
  writeFileSync(join(root, "empty/x\ny"), "");
  expect(await list({ path: "empty" })).toBe('"empty/x\\ny"');
});

test("an empty folder, a file and a missing folder are told apart", async () => {
  expect(await list({ path: "empty" })).toBe('"empty" is an empty folder.');
  expect(await list({ path: "a.txt" })).toMatchObject({ isError: true });
  expect(await list({ path: "gone" })).toMatchObject({ isError: true });
});
