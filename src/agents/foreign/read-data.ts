import { createRequire } from "node:module";
import { MandateError } from "../../ports/mandate-error.ts";
import { parseYaml } from "../documents/read-yaml.ts";
import type { Syntax } from "./detect-format.ts";
import { toPlainData } from "./plain-data.ts";
import { type DataProblem, type ParsedData, readJsonc } from "./read-jsonc.ts";

/** Collections of modes reach more than a megabyte. */
export const maximumDataBytes = 2 * 1024 * 1024;

/** A file that is data as a whole. Without repair: in it, a guess could lose a restriction. */
export function readData(text: string, syntax: Syntax): ParsedData | DataProblem {
  if (syntax === "toml") return readToml(text);
  if (syntax === "json" || /^\s*\{/.test(text)) return readJsonc(text);
  const duplicates: { key: string; line: number }[] = [];
  try {
    const { value, lineOf } = parseYaml(text, "", {
      maximumLength: maximumDataBytes,
      onDuplicate: (line, key) => duplicates.push({ key, line }),
    });
    return { value, duplicates, lineOf };
  } catch (error) {
    if (!(error instanceof MandateError)) throw error;
    const [, line = "1", problem = error.message] = /^:(\d+): ([\s\S]*)$/.exec(error.message) ?? [];
    return { problem: `not valid YAML: ${problem.split("\n")[0]}`, line: Number(line) };
  }
}

const require = createRequire(import.meta.url);

const maximumDepth = 64;

/** TOML as plain data. Dates become text. */
function readToml(text: string): ParsedData | DataProblem {
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
