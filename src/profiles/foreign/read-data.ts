import { parseYaml } from "../../documents/read-yaml.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import type { Syntax } from "./detect-format.ts";
import { type DataProblem, type ParsedData, readJsonc } from "./read-jsonc.ts";
import { readToml } from "./read-toml.ts";

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
