import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { callTool, contextFor, makeTree } from "./file-tool.test-support.ts";
import { globFiles } from "./glob-files.ts";
import { grepTool } from "./grep-files.ts";
import { findRipgrep } from "./search/ripgrep.ts";

const withIt = grepTool(findRipgrep);
const withoutIt = grepTool(async () => null);
const whyNot = "ripgrep is not installed, so its answers cannot be compared";

/** More files than ripgrep is handed at once, in folders of which it is handed some as a whole. */
function makeLargeTree(): string {
  const files: Record<string, string> = { ".gitignore": "*.log\n/package-3/\n" };
  for (let index = 0; index < 1500; index += 1) {
    const folder = `package-${index % 7}/a-folder-with-a-rather-long-name-${index % 31}`;
    const ending = ["ts", "ts", "tsx", "md", "log"][index % 5];
    const lines = [`const value${index} = ${index};`, "return value;"];
    if (index % 250 === 7) lines.push("needleInTheHaystack();");
    if (index % 13 === 0) lines.push("// TODO: look at this again");
    files[`${folder}/file-${index}.${ending}`] = lines.join(index % 3 === 0 ? "\r\n" : "\n");
  }
  return makeTree(files);
}

const requests: readonly object[] = [
  { pattern: "needleInTheHaystack" },
  { pattern: "never_written" },
  { pattern: "TODO", limit: 5000 },
  { pattern: "todo", ignore_case: true, output: "files", limit: 5000 },
  { pattern: "TODO", output: "count", limit: 100 },
  { pattern: "TODO", context: 2, limit: 30 },
  { pattern: "return", limit: 5000 },
  { pattern: "value(?:1|2)9{2,3} =|Haystack\\(\\);$", limit: 5000 },
  { pattern: "TODO", glob: "*.tsx", limit: 5000 },
  { pattern: "TODO", glob: "package-4/**", limit: 5000 },
  { pattern: "TODO", path: "package-2", limit: 5000 },
  { pattern: "needle", include_ignored: true, limit: 5000 },
];

test("in a large tree the answers are the same with ripgrep and without it", async (context) => {
  if ((await findRipgrep()) === null) return context.skip(whyNot);
  const toolContext = contextFor(makeLargeTree());
  const sizes: number[] = [];
  for (const input of requests) {
    const one = await callTool(withIt, input, toolContext);
    expect(one, JSON.stringify(input)).toEqual(await callTool(withoutIt, input, toolContext));
    sizes.push(one.text.split("\n").length);
  }
  // Otherwise little was compared.
  expect(sizes.reduce((sum, size) => sum + size)).toBeGreaterThan(500);
}, 60_000);

test("in a large tree the files are those that ripgrep names", async (context) => {
  const ripgrep = await findRipgrep();
  if (ripgrep === null) return context.skip(whyNot);
  const root = makeLargeTree();
  const ask = (...more: readonly string[]) => {
    const words = ["--no-config", "--files", "--hidden", "--no-require-git", ...more];
    return execFileSync(ripgrep.file, words, { cwd: root }).toString().trim().split("\n");
  };
  // To ripgrep a glob lifts what is ignored, so that it is asked for both.
  const known = new Set(ask());
  for (const pattern of ["*.tsx", "package-4/**", "**/*-29/*.md", "file-1?.{ts,tsx}", "*"]) {
    const { text } = await callTool(globFiles, { pattern, limit: 5000 }, contextFor(root));
    const expected = ask("-g", pattern).filter((path) => known.has(path));
    expect(text.split("\n").sort()).toEqual(expected.sort());
  }
}, 60_000);
