import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { testFolder } from "../../testing/test-folder.test-support.ts";
import { bindWorkspace } from "../../workspaces/bind-workspace.ts";
import type { ToolContext, ToolResult } from "../tool.ts";
import { readFile } from "./read-file.ts";

let root: string;

beforeEach(() => {
  root = testFolder();
});

async function read(input: object, change: Partial<ToolContext> = {}): Promise<ToolResult> {
  const workspace = bindWorkspace({ root, isolation: "shared", allowWrites: false });
  const { signal } = new AbortController();
  const context = {
    runId: "r",
    delegationId: "d",
    callId: "c",
    workspace,
    signal,
    ...change,
  } as ToolContext;
  return (await readFile.execute(readFile.input.parse(input), context)) as ToolResult;
}

test("a small file comes back as it is, without notes", async () => {
  writeFileSync(join(root, "a.txt"), "\ufeffeins\r\nzwei, ohne Ende");
  expect(await read({ path: "a.txt" })).toEqual({ text: "\ufeffeins\r\nzwei, ohne Ende" });
});

test("offset and limit count lines, and the answer says how to read on", async () => {
  writeFileSync(join(root, "a.txt"), "1\n2\n3\n4\n5\n");
  const { text } = await read({ path: "a.txt", offset: 2, limit: 2 });
  expect(text).toBe(
    "2\n3\n[lines 2 to 3; the file is longer (10 bytes in all): read on with offset 4]",
  );
  expect((await read({ path: "a.txt", offset: 4 })).text).toBe("4\n5\n");
  expect((await read({ path: "a.txt", offset: 5, limit: 1 })).text).toBe("5\n");
});

test("an empty file, and an offset past the end, are told apart", async () => {
  writeFileSync(join(root, "empty"), "");
  writeFileSync(join(root, "two"), "1\n2");
  expect(await read({ path: "empty" })).toEqual({ text: "empty is empty." });
  const past = await read({ path: "two", offset: 9 });
  expect(past).toEqual({ text: "two has 2 lines; offset 9 is past its end.", isError: true });
});

test("a large file is returned in whole lines of at most 256 KB that add up to the file", async () => {
  const content = Array.from({ length: 60_000 }, (_, line) => `line ${line} é`).join("\n");
  writeFileSync(join(root, "big"), content);
  let rest: number | undefined = 1;
  let whole = "";
  while (rest !== undefined) {
    const { text } = await read({ path: "big", offset: rest, limit: 100_000 });
    const note: RegExpExecArray | null = /\[lines .* offset (\d+)\]$/.exec(text);
    const part = note === null ? text : text.slice(0, note.index);
    expect(Buffer.byteLength(part)).toBeLessThanOrEqual(256 * 1024);
    whole += part;
    rest = note === null ? undefined : Number(note[1]);
  }
  expect(whole).toBe(content);
});

test("one endless line is cut between characters, and the next line can be reached", async () => {
  writeFileSync(join(root, "min.js"), `${"é".repeat(300_001)}\nnext\n`);
  const { text } = await read({ path: "min.js" });
  expect(text).toMatch(/é\n\[line 1 is longer than 262144 bytes and was cut; .* offset 2\]$/);
  expect(text).not.toContain("\ufffd");
  expect((await read({ path: "min.js", offset: 2 })).text).toBe("next\n");
});

test("a binary file is named as such instead of poured out", async () => {
  writeFileSync(join(root, "a.bin"), Buffer.from([1, 2, 0, 3]));
  const result = await read({ path: "a.bin" });
  expect(result).toMatchObject({
    isError: true,
    text: expect.stringContaining("not text (4 bytes"),
  });
});

const header = (hex: string) => Buffer.concat([Buffer.from(hex, "hex"), Buffer.alloc(40)]);
const jpeg = Buffer.concat([
  // A preview first, as cameras write it: its own size is not the picture's.
  Buffer.from("ffd8ffe10010ffc00011080001000103012200", "hex"),
  Buffer.from("ffffc0001108012c0190030122000211010311", "hex"),
]);

test.each([
  ["PNG", header("89504e470d0a1a0a0000000d4948445200000280000001e0"), "a PNG image, 640 × 480"],
  ["GIF", header("47494638396180020f00"), "a GIF image, 640 × 15"],
  ["JPEG", jpeg, "a JPEG image, 400 × 300"],
  [
    "WebP",
    header("52494646000000005745425056503820000000000000009d012a8002e001"),
    "a WebP image, 640 × 480",
  ],
  [
    "WebP lossless",
    header("5249464600000000574542505650384c000000002f7fc27700"),
    "a WebP image, 640 × 480",
  ],
  [
    "WebP extended",
    header("524946460000000057454250565038580a000000000000007f0200df0100"),
    "a WebP image, 640 × 480",
  ],
  ["PDF", Buffer.from("%PDF-1.7\nall text so far"), "a PDF document, version 1.7"],
])("a %s is recognised by its content, whatever it is called", async (_, content, expected) => {
  writeFileSync(join(root, "notes.txt"), content);
  const result = await read({ path: "notes.txt" });
  expect(result.text).toContain(`notes.txt is ${expected}`);
  expect(result.text).toContain(`(${content.length} bytes)`);
  expect(result.isError).toBeUndefined();
});

test("a picture that was cut short, and other kinds of files, are named as well", async () => {
  for (const [hex, expected] of [
    ["89504e470d0a1a0a", "is a PNG image (8 bytes)"],
    ["ffd8ffe0", "is a JPEG image (4 bytes)"],
    ["504b030400", "a ZIP archive"],
    ["1f8b0800", "compressed with gzip"],
    ["fffe61000a00", "UTF-16 text"],
    ["7f454c4600", "an ELF program"],
  ] as const) {
    writeFileSync(join(root, "x"), Buffer.from(hex, "hex"));
    expect((await read({ path: "x" })).text).toContain(expected);
  }
});

test("line numbers come when they are asked for", async () => {
  writeFileSync(join(root, "a.txt"), "one\n\nthree");
  expect((await read({ path: "a.txt", numbered: true })).text).toBe("1\tone\n2\t\n3\tthree");
  const part = await read({ path: "a.txt", numbered: true, offset: 2, limit: 1 });
  expect(part.text).toMatch(/^2\t\n\[lines 2 to 2;/);
});

test("a file that looks generated or minified is said to be", async () => {
  writeFileSync(join(root, "a.pb.go"), "// Code generated by protoc. DO NOT EDIT.\npackage a\n");
  expect((await read({ path: "a.pb.go" })).text).toMatch(
    /\n\[looks generated, by what line 1 says/,
  );
  writeFileSync(join(root, "a.js"), `${"var a=1;".repeat(2000)}\n`);
  expect((await read({ path: "a.js" })).text).toMatch(/\n\[looks minified/);
  writeFileSync(join(root, "b.js"), "// by hand\n".repeat(2000));
  expect((await read({ path: "b.js" })).text).toBe("// by hand\n".repeat(2000));
});

test("text that is not UTF-8 is shown with a warning", async () => {
  writeFileSync(join(root, "latin"), Buffer.from([0x61, 0xe9, 0x62]));
  const { text } = await read({ path: "latin" });
  expect(text).toMatch(/^a\ufffdb\n\[not valid UTF-8/);
});

test("a missing file and a folder say what to do next, without paths of the machine", async () => {
  mkdirSync(join(root, "src"));
  for (const path of ["gone.ts", "src", ".", "gone/deep.ts"]) {
    const result = await read({ path });
    expect(result.isError).toBe(true);
    expect(result.text).toMatch(/list_files shows what there is/);
    expect(result.text).not.toContain(root);
  }
});

test("a pipe and an agent without a workspace are denied", async () => {
  execFileSync("mkfifo", [join(root, "pipe")]);
  await expect(read({ path: "pipe" })).rejects.toMatchObject({ rule: "path_not_regular" });
  const denied = read({ path: "a" }, { workspace: null });
  await expect(denied).rejects.toMatchObject({ rule: "no_workspace" });
});

test("a cancelled call stops reading", async () => {
  writeFileSync(join(root, "a"), "x");
  await expect(read({ path: "a" }, { signal: AbortSignal.abort() })).rejects.toThrow(/abort/);
});

test.each([
  {},
  { path: "" },
  { path: 1 },
  { path: "a", extra: 1 },
  { path: "a", offset: 0 },
  { path: "a", offset: -0 },
  { path: "a", offset: 1.5 },
  { path: "a", limit: 2 ** 53 },
  { path: "a".repeat(1 << 20) },
  JSON.parse('{"path": "a", "__proto__": {"limit": 1}}'),
])("input %# is refused by the schema", (input) => {
  expect(readFile.input.safeParse(input).success).toBe(false);
});
