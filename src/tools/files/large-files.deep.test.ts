import { closeSync, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Tool } from "../tool.ts";
import { editFile } from "./edit-file.ts";
import { callTool, contextFor, makeTree } from "./file-tool.test-support.ts";
import { grepTool } from "./grep-files.ts";
import { readFile } from "./read-file.ts";
import { findRipgrep } from "./search/ripgrep.ts";

const megabyte = 1024 * 1024;

/** A hundred megabytes that are never held at once, with a needle near the end. */
function writeLarge(path: string, lineLength: number): void {
  const line = `${"x".repeat(lineLength - 1)}${lineLength > megabyte ? "x" : "\n"}`;
  const block = Buffer.from(line.repeat(Math.ceil(megabyte / line.length))).subarray(0, megabyte);
  const descriptor = openSync(path, "w");
  for (let written = 0; written < 100; written += 1) {
    writeSync(descriptor, written === 99 ? Buffer.from(`needle ${block}`) : block);
  }
  closeSync(descriptor);
}

/** The most memory that a call takes beyond what there was, looked at while it runs. */
async function growthOf(tool: Tool, input: object, root: string) {
  const before = process.memoryUsage().rss;
  let most = before;
  const timer = setInterval(() => {
    most = Math.max(most, process.memoryUsage().rss);
  }, 2);
  const { text } = await callTool(tool, input, contextFor(root));
  clearInterval(timer);
  return { text, growth: (Math.max(most, process.memoryUsage().rss) - before) / megabyte };
}

test.each([
  ["a line of its own", 2 * megabyte],
  ["lines of 80 bytes", 80],
])(
  "a file of 100 MB in %s leaves memory as it is",
  async (_, lineLength) => {
    const root = makeTree();
    const path = join(root, "large");
    writeLarge(path, lineLength);
    try {
      for (const locate of [async () => null, findRipgrep]) {
        const tool = grepTool(locate);
        await growthOf(tool, { pattern: "warm up", limit: 1 }, root);
        for (const pattern of ["needle", "[m-o]eedle", "x+y"]) {
          const { text, growth } = await growthOf(tool, { pattern, context: 1 }, root);
          expect(text.includes("needle")).toBe(pattern !== "x+y");
          expect(text.length).toBeLessThan(3000);
          expect(growth).toBeLessThan(30);
        }
      }
      const read = await growthOf(readFile, { path: "large", offset: 1_000_000, limit: 2 }, root);
      expect(read.growth).toBeLessThan(30);
      const input = { path: "large", old_text: "needle", new_text: "" };
      const edited = await growthOf(editFile, input, root);
      expect(edited.text).toMatch(/cannot be edited/);
      expect(edited.growth).toBeLessThan(30);
    } finally {
      rmSync(path);
    }
  },
  60_000,
);
