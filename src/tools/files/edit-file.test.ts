import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { cases } from "../../testing/cases.test-support.ts";
import { readReplaceable, replaceFile } from "../../workspaces/replace-file.ts";
import { applyEdit } from "./edit/apply-edit.ts";
import { editFile } from "./edit-file.ts";
import { callTool, contextFor, makeTree } from "./file-tool.test-support.ts";

async function edit(root: string, oldText: string, newText: string, more: object = {}) {
  const input = { path: "a.txt", old_text: oldText, new_text: newText, ...more };
  return callTool(editFile, input, contextFor(root));
}

function contentOf(root: string): string {
  return readFileSync(join(root, "a.txt"), "utf8");
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

test("it replaces the only occurrence, shows a diff and hands over the evidence", async () => {
  const lines = Array.from({ length: 12 }, (_, index) => `line ${index + 1}`);
  const before = `${lines.join("\n")}\n`;
  const root = makeTree({ "a.txt": before });
  const { text, files } = await edit(root, "line 6\nline 7\n", "line six\n");
  const after = before.replace("line 6\nline 7\n", "line six\n");
  expect(contentOf(root)).toBe(after);
  const counts = { added: 1, removed: 2 };
  expect(files).toEqual([
    { path: "a.txt", before: sha256(before), after: sha256(after), lines: counts },
  ]);
  expect(text).toBe(
    [
      ...["Edited a.txt.", "--- a.txt", "+++ a.txt", "@@ -3,8 +3,7 @@", " line 3", " line 4"],
      ...[" line 5", "-line 6", "-line 7", "+line six", " line 8", " line 9", " line 10"],
    ].join("\n"),
  );
});

test("more than one occurrence is refused with the lines, overlaps included", async () => {
  const root = makeTree({ "a.txt": "x\nfoo\ny foo\nfoo\n" });
  const { text, isError } = await edit(root, "foo", "bar");
  expect(isError).toBe(true);
  expect(text).toMatch(/occurs 3 times in a\.txt, at lines 2, 3, 4; nothing was changed/);
  expect(contentOf(root)).toBe("x\nfoo\ny foo\nfoo\n");
  const overlapping = makeTree({ "a.txt": "aaa" });
  expect((await edit(overlapping, "aa", "b")).text).toMatch(/occurs 2 times/);
});

test("replace_all replaces them all, from the left, and says how many", async () => {
  const root = makeTree({ "a.txt": "foo foo\nfoo\naaa\n" });
  expect((await edit(root, "foo", "ba", { replace_all: true })).text).toMatch(/in 3 places/);
  expect((await edit(root, "aa", "", { replace_all: true })).isError).toBeUndefined();
  expect(contentOf(root)).toBe("ba ba\nba\na\n");
});

test("what does not occur is refused with what comes nearest", async () => {
  const root = makeTree({ "a.txt": "one\nfunction add(a, b) {\n    return a + b;\n}\nlast" });
  const blanks = await edit(root, "function add(a, b) {\n  return a + b;\n}", "x");
  expect(blanks).toMatchObject({ isError: true });
  expect(blanks.text).toMatch(/from 2 on differ from it in blanks alone/);
  expect(blanks.text).toContain("3\t    return a + b;");
  const other = await edit(root, "function add(a, c) {", "x");
  expect(other.text).toMatch(/nearest is at line 2/);
  expect((await edit(root, "entirely different ???", "x")).text).toMatch(/Nothing in it is like/);
  expect((await edit(root, "last\n", "x")).text).toMatch(/the file ends without one/);
  expect((await edit(root, "1\tone\n2\tfunction add", "x")).text).toMatch(/leave them out/);
  expect(contentOf(root)).toContain("one\nfunction add(a, b)");
});

test("the same text twice, or an edit made twice, is refused", async () => {
  const root = makeTree({ "a.txt": "one two" });
  expect((await edit(root, "one", "one")).text).toMatch(/are the same/);
  await edit(root, "one", "three");
  expect(await edit(root, "one", "three")).toMatchObject({ isError: true });
  expect(editFile.idempotent).toBe(false);
});

test.each([
  ["CRLF", "a\r\nb\r\nc\r\n", "a\nb\n", "a\nnew\nb\n", "a\r\nnew\r\nb\r\nc\r\n"],
  ["CRLF from CRLF", "a\r\nb\r\n", "a\r\nb", "x\r\ny", "x\r\ny\r\n"],
  ["LF from CRLF", "a\nb\n", "a\r\nb", "x\r\ny", "x\ny\n"],
  ["mixed, at a CRLF", "a\nb\r\nc\n", "b", "b\nb2", "a\nb\r\nb2\r\nc\n"],
  ["mixed, at a LF", "a\nb\r\nc\n", "c", "c\nc2", "a\nb\r\nc\nc2\n"],
  ["across both", "a\nb\r\nc\n", "a\nb\nc", "x", "x\n"],
  ["no end", "a\r\nb", "b", "b\nc", "a\r\nb\r\nc"],
  ["byte order mark", "\ufeffa\nb", "\ufeffa", "x", "\ufeffx\nb"],
  ["mark unsaid", "\ufeffa\nb", "a\n", "", "\ufeffb"],
  ["the very end", "a\nb", "\nb", "", "a"],
  ["dollar signs", "a", "a", "$& $1 $$", "$& $1 $$"],
])("line endings, marks and ends stay as they are: %s", async (_, before, old, fresh, after) => {
  const root = makeTree({ "a.txt": before });
  expect((await edit(root, old, fresh)).isError).toBeUndefined();
  expect(contentOf(root)).toBe(after);
});

test("bytes that are no UTF-8 stay as they are, and so do permissions", async () => {
  const root = makeTree({ "a.txt": Uint8Array.of(0xff, 0x61, 0xfe, 0x62, 0x0a) });
  chmodSync(join(root, "a.txt"), 0o754);
  await edit(root, "a", "é");
  expect([...readFileSync(join(root, "a.txt"))]).toEqual([0xff, 0xc3, 0xa9, 0xfe, 0x62, 0x0a]);
  expect(statSync(join(root, "a.txt")).mode & 0o777).toBe(0o754);
  expect(readdirSync(root)).toEqual(["a.txt"]);
});

test("it does to a text what replacing in a string does", () => {
  const text = fc.string({
    unit: fc.constantFrom("a", "b", "\n", "\r\n", "é", "😀"),
    maxLength: 20,
  });
  fc.assert(
    fc.property(text, text, text, (content, oldText, newText) => {
      const request = { oldText, newText, replaceAll: true, largest: 1000 };
      const outcome = applyEdit(Buffer.from(content), request);
      const plain = (each: string) => each.replaceAll("\r\n", "\n");
      const expected = plain(content).replaceAll(plain(oldText), () => plain(newText));
      if (outcome.kind === "applied") expect(plain(outcome.content.toString())).toBe(expected);
      else if (oldText !== "") expect(expected).toBe(plain(content));
    }),
    { numRuns: cases(2000) },
  );
});

test("a file that changed since it was read is not overwritten", async () => {
  const root = makeTree({ "a.txt": "one" });
  const { workspace } = contextFor(root);
  if (workspace === null) throw new Error("no workspace");
  const { hash } = readReplaceable(workspace, "a.txt", 100);
  writeFileSync(join(root, "a.txt"), "somebody else's");
  const replaced = replaceFile(workspace, "a.txt", Buffer.from("two"), { expected: hash });
  await expect(replaced).rejects.toThrow(/changed by another process/);
  expect(contentOf(root)).toBe("somebody else's");
  expect(readdirSync(root)).toEqual(["a.txt"]);
});

test("two edits at once: each is in the file, or was refused", async () => {
  for (let round = 0; round < 20; round += 1) {
    const root = makeTree({ "a.txt": "first\nsecond\n" });
    const results = await Promise.all([edit(root, "first", "1st"), edit(root, "second", "2nd")]);
    const content = contentOf(root);
    const [one, other] = results.map((result) => result.isError !== true);
    expect(content).toBe(`${one ? "1st" : "first"}\n${other ? "2nd" : "second"}\n`);
  }
});

test("links, hard links, folders, missing and protected files are refused as for writing", async () => {
  const root = makeTree({ "a.txt": "x", "b.txt": "x", "mandate.yaml": "x" });
  symlinkSync("a.txt", join(root, "link"));
  linkSync(join(root, "b.txt"), join(root, "hard"));
  mkdirSync(join(root, "folder"));
  for (const [path, rule] of [
    ["link", "path_link"],
    ["hard", "path_hard_link"],
    ["mandate.yaml", "path_protected"],
    ["../x", "path_outside_workspace"],
  ]) {
    await expect(edit(root, "x", "y", { path })).rejects.toMatchObject({ rule });
  }
  for (const path of ["folder", "gone", "gone/deep", "a.txt/x"]) {
    expect(await edit(root, "x", "y", { path })).toMatchObject({ isError: true });
  }
  const readOnly = contextFor(root, { allowWrites: false });
  const input = { path: "a.txt", old_text: "x", new_text: "y" };
  await expect(callTool(editFile, input, readOnly)).rejects.toMatchObject({
    rule: "workspace_read_only",
  });
});

test("a large file and a text that would grow without end are refused before memory is", async () => {
  const root = makeTree({ "a.txt": "x".repeat(50_000) });
  const grown = await edit(root, "x", "y".repeat(900_000), { replace_all: true });
  expect(grown.text).toMatch(/would grow to 45000000000 bytes/);
  writeFileSync(join(root, "a.txt"), Buffer.alloc(10_000_001, "x"));
  expect((await edit(root, "x", "y")).text).toMatch(/cannot be edited/);
});

test("a text made to be slow to find is looked for to the end", async () => {
  const root = makeTree({ "a.txt": "a".repeat(9_000_000) });
  const { text } = await edit(root, `${"a".repeat(200_000)}b${"a".repeat(200_000)}`, "");
  expect(text).toMatch(/does not occur/);
  expect((await edit(root, "a".repeat(200_000), "")).text).toMatch(/1000 or more times/);
});

test("many changes in one long line are all made", async () => {
  const root = makeTree({ "a.txt": `${"ab".repeat(90_000)}${"c".repeat(5_000_000)}` });
  const { text } = await edit(root, "ab", "a\nb", { replace_all: true });
  expect(text).toMatch(/^Edited a\.txt in 90000 places/);
  expect(contentOf(root).startsWith("a\nba\nb")).toBe(true);
  const block = `${"x\n".repeat(100_000)}y`;
  writeFileSync(join(root, "a.txt"), "x\n".repeat(200_000));
  expect(await edit(root, block, "")).toMatchObject({ isError: true });
});

test("places near to each other share a hunk, and its numbers fit", async () => {
  const lines = Array.from({ length: 30 }, (_, index) => `${index + 1}${index % 9 ? "" : " x"}`);
  const root = makeTree({ "a.txt": lines.join("\n") });
  const { text } = await edit(root, " x", "\nnew", { replace_all: true });
  const heads = text.split("\n").filter((line) => line.startsWith("@@"));
  expect(heads).toEqual([
    "@@ -1,4 +1,5 @@",
    "@@ -7,7 +8,8 @@",
    "@@ -16,7 +18,8 @@",
    "@@ -25,6 +28,7 @@",
  ]);
  expect(text).toContain("\n-1 x\n+1\n+new\n 2\n");
  const near = await edit(root, "new\n2\n", "newer\n2\n");
  expect(near.text).toMatch(/\n 1\n-new\n\+newer\n 2\n/);
  const last = await edit(root, "30", "31");
  expect(last.text).toMatch(/-30\n\\ No newline at end of file\n\+31\n\\ No newline/);
});

test("git can apply the diff, and gets the same file", async () => {
  const line = fc.constantFrom("a", "b", "c", "x", "long line", "");
  const lines = fc.array(line, { minLength: 1, maxLength: 25 });
  const from = fc.nat({ max: 24 });
  const text = fc.array(line, { maxLength: 3 }).map((parts) => parts.join("\n"));
  let applied = 0;
  await fc.assert(
    fc.asyncProperty(lines, fc.boolean(), from, text, async (parts, hasEnd, first, newText) => {
      const before = parts.join("\n") + (hasEnd ? "\n" : "");
      const oldText = parts.slice(first, first + 3).join("\n");
      fc.pre(oldText !== "" && oldText !== newText);
      const root = makeTree({ "a.txt": before });
      const result = await edit(root, oldText, newText, { replace_all: true });
      if (result.isError) return;
      const after = contentOf(root);
      writeFileSync(join(root, "a.txt"), before);
      const diff = `${result.text.slice(result.text.indexOf("\n") + 1)}\n`;
      execFileSync("git", ["apply", "-p0", "-"], { cwd: root, input: diff, stdio: "pipe" });
      expect(contentOf(root)).toBe(after);
      applied += 1;
    }),
    { numRuns: cases(100) },
  );
  expect(applied).toBe(cases(100));
});

test("a long diff is cut and says so", async () => {
  const root = makeTree({ "a.txt": `${"x\n\n\n\n\n\n\n\n\n\n".repeat(500)}${"l".repeat(5000)}` });
  const { text } = await edit(root, "x", "y", { replace_all: true });
  expect(text).toMatch(/\[\d+ more places changed\]$/);
  expect(text.length).toBeLessThan(5000);
  const long = await edit(root, "l".repeat(5000), `z${"l".repeat(5000)}`);
  expect(long.text.length).toBeLessThan(1000);
});

test.each([
  { path: "a", old_text: "", new_text: "" },
  { path: "a", old_text: "a" },
  { path: "a", old_text: "\ud800", new_text: "" },
  { path: "a", old_text: "a", new_text: "x".repeat(1 << 20) },
  { path: "a", old_text: "a", new_text: "b", replaceAll: true },
])("input %# is refused by the schema", (input) => {
  expect(editFile.input.safeParse(input).success).toBe(false);
});
