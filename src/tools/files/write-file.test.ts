import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { testFolder } from "../../testing/test-folder.test-support.ts";
import { bindWorkspace } from "../../workspaces/bind-workspace.ts";
import { PathDenied } from "../../workspaces/resolve-inside.ts";
import type { ToolContext, ToolResult } from "../tool.ts";
import { writeFile } from "./write-file.ts";

let root: string;

beforeEach(() => {
  root = testFolder();
});

async function write(input: object, place = root): Promise<ToolResult> {
  const workspace = bindWorkspace({ root: place, isolation: "shared", allowWrites: true });
  const { signal } = new AbortController();
  const context = { runId: "r", delegationId: "d", callId: "c", workspace, signal } as ToolContext;
  return (await writeFile.execute(writeFile.input.parse(input), context)) as ToolResult;
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

test("it says what it did, in bytes, and hands over the evidence", async () => {
  const created = await write({ path: "./src/a.ts", content: "é" });
  expect(created.text).toBe("Created src/a.ts (2 bytes).");
  const one = { added: 1, removed: 0 };
  expect(created.files).toEqual([
    { path: "src/a.ts", before: null, after: sha256("é"), lines: one },
  ]);
  const replaced = await write({ path: "src/a.ts", content: "b" });
  expect(replaced.text).toBe("Replaced src/a.ts (1 bytes).");
  const lines = { added: 1, removed: 1 };
  expect(replaced.files).toEqual([
    { path: "src/a.ts", before: sha256("é"), after: sha256("b"), lines },
  ]);
});

test("whatever speaks against a write is known before it is begun, and nothing is created", () => {
  const workspace = bindWorkspace({ root, isolation: "shared", allowWrites: true });
  const context = { workspace } as ToolContext;
  const check = (path: string) => writeFile.preflight?.({ path, content: "" }, context);
  execFileSync("mkfifo", [join(root, "pipe")]);
  for (const path of ["../x", "pipe", "mandate.yaml", ".git/config"]) {
    expect(() => check(path)).toThrow(PathDenied);
  }
  check("new/deep/file");
  expect(readdirSync(root)).toEqual(["pipe"]);
});

test("the same call again leaves the same file", async () => {
  await write({ path: "a", content: "same" });
  const again = await write({ path: "a", content: "same" });
  expect(again.text).toMatch(/already had exactly this content/);
  expect(readFileSync(join(root, "a"), "utf8")).toBe("same");
});

test("a folder or a file in the way is a result that the model can act upon", async () => {
  mkdirSync(join(root, "folder"));
  await write({ path: "file", content: "" });
  expect(await write({ path: "folder", content: "" })).toMatchObject({ isError: true });
  expect(await write({ path: "file/below", content: "" })).toMatchObject({ isError: true });
});

test.each([
  { path: "a" },
  { path: "a", content: 1 },
  { path: "a", content: "\ud800" },
  { path: "a", content: "x".repeat(1 << 20) },
  { path: "a", content: "", mode: 0o777 },
])("input %# is refused by the schema", (input) => {
  expect(writeFile.input.safeParse(input).success).toBe(false);
});

/** Only root can mount a disk small enough to be filled. */
function mountSmallDisk(): string | undefined {
  const disk = join(root, "disk");
  mkdirSync(disk);
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=64k", "none", disk], { stdio: "ignore" });
    return disk;
  } catch {
    return undefined;
  }
}

test("a full disk is said plainly, keeps the old content and leaves no temporary file", async (context) => {
  const disk = mountSmallDisk();
  if (disk === undefined) return context.skip();
  try {
    await write({ path: "a", content: "old" }, disk);
    const result = await write({ path: "a", content: "x".repeat(200_000) }, disk);
    expect(result).toMatchObject({
      isError: true,
      text: expect.stringMatching(/^The disk is full/),
    });
    expect(readFileSync(join(disk, "a"), "utf8")).toBe("old");
    expect(readdirSync(disk)).toEqual(["a"]);
  } finally {
    execFileSync("umount", [disk]);
  }
});
