import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startSwapper } from "../../workspaces/folder-swapper.test-support.ts";
import type { Tool } from "../tool.ts";
import { editFile } from "./edit-file.ts";
import { contextFor } from "./file-tool.test-support.ts";
import { globFiles } from "./glob-files.ts";
import { grepTool } from "./grep-files.ts";
import { listFiles } from "./list-files.ts";
import { readFile } from "./read-file.ts";
import { findRipgrep } from "./search/ripgrep.ts";
import { writeFile } from "./write-file.ts";

const calls: readonly (readonly [Tool, object])[] = [
  [grepTool(async () => null), { pattern: "CANARY|inside", context: 2 }],
  [grepTool(async () => null), { pattern: "CANARY|inside", path: "folder" }],
  [grepTool(async () => null), { pattern: "CANARY|inside", path: "folder/deep/a.txt" }],
  // Opens by path, and what it sees must not come out.
  [grepTool(findRipgrep), { pattern: "CANARY|inside" }],
  [grepTool(findRipgrep), { pattern: "CANARY", output: "count" }],
  [globFiles, { pattern: "**" }],
  [globFiles, { pattern: "**", path: "folder", sort: "modified" }],
  [listFiles, { recursive: true }],
  [listFiles, { path: "folder" }],
  [listFiles, { path: "folder/deep", recursive: true }],
  [readFile, { path: "folder/deep/a.txt" }],
  [readFile, { path: "folder/a.txt" }],
  [writeFile, { path: "folder/deep/b.txt", content: "EVIL" }],
  [writeFile, { path: "folder/new/c.txt", content: "EVIL" }],
  [editFile, { path: "folder/deep/a.txt", old_text: "CANARY", new_text: "EVIL" }],
  [editFile, { path: "folder/a.txt", old_text: "inside", new_text: "inside" }],
  [editFile, { path: "folder/deep/a.txt", old_text: "s", new_text: "s\n", replace_all: true }],
];

/** More, for those who want to be sure. */
const leastTries = Number(process.env["MANDATE_SWAP_TRIES"] ?? 340);

test("no tool shows or changes anything outside while a folder is swapped with a link", async () => {
  const swapper = await startSwapper();
  const context = contextFor(swapper.root);
  const escapes: string[] = [];
  let answers = 0;
  let denials = 0;
  // Until the race was run, and neither side always won.
  const isEnough = () => swapper.swaps > 500 && answers > 10 && denials > 0;
  for (let round = 0; round < leastTries || !isEnough(); round += 1) {
    const [tool, input] = calls[round % calls.length] ?? [readFile, {}];
    try {
      const output = await tool.execute(tool.input.parse(input), context);
      const { text, isError } = typeof output === "string" ? { text: output } : output;
      // The link itself may be named, with what it says.
      const told = text.replaceAll(/^(?:link|folder|spare[\d.]*) -> .*$/gm, "");
      if (/CANARY|only-outside/.test(told) && !isError) escapes.push(`${tool.name}: ${text}`);
      if (!isError && /inside|a\.txt/.test(text)) answers += 1;
    } catch {
      denials += 1;
    }
  }
  await swapper.stop();
  expect(escapes).toEqual([]);
  expect(readdirSync(swapper.outside).sort()).toEqual(["a.txt", "deep", "only-outside"]);
  expect(readdirSync(join(swapper.outside, "deep"))).toEqual(["a.txt"]);
  for (const file of ["a.txt", "deep/a.txt"]) {
    expect(readFileSync(join(swapper.outside, file), "utf8")).toBe("CANARY");
  }
  swapper.remove();
}, 1_000_000);
