import { createRequire } from "node:module";
import { toPlainData } from "./plain-data.ts";
import type { DataProblem, ParsedData } from "./read-jsonc.ts";

const require = createRequire(import.meta.url);
const maximumDepth = 64;

/** TOML as plain data. Dates become text. */
export function readToml(text: string): ParsedData | DataProblem {
  // Loaded when there is something to parse: most folders hold Markdown alone.
  const { parse } = require("smol-toml") as typeof import("smol-toml");
  try {
    const value = toPlainData(parse(text, { maxDepth: maximumDepth }));
    return { value, duplicates: [], lineOf: (path) => lineOfKey(text, String(path[0] ?? "")) };
  } catch (error) {
    const { line, message } = error as { readonly line?: number; readonly message?: string };
    const problem = String(message ?? "").split("\n")[0] ?? "";
    return {
      problem: problem.replace("Invalid TOML document: ", "not valid TOML: "),
      line: line ?? 1,
    };
  }
}

function lineOfKey(text: string, key: string): number {
  const index = text.split("\n").findIndex((line) => line.trimStart().startsWith(key));
  return Math.max(0, index) + 1;
}
