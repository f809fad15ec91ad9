import { MandateError } from "../../ports/mandate-error.ts";
import type { FrontMatterProblem } from "./front-matter.ts";
import { type EntryLine, repairEntries } from "./front-matter-entries.ts";
import { parseYaml } from "./read-yaml.ts";

/** What the lines of a front matter say. */
export interface ReadFields {
  readonly fields: Record<string, unknown>;
  /** Lines that belong to no value: text that slipped into the front matter. */
  readonly leftOver: readonly string[];
  lineOf(key: string): number;
}

/** Strict YAML where it is that, entry by entry where it is not. */
export function readFields(
  lines: readonly EntryLine[],
  { known, prose, guarded }: Readonly<Record<"known" | "prose" | "guarded", ReadonlySet<string>>>,
  problems: FrontMatterProblem[],
): ReadFields {
  const firstLine = lines[0]?.line ?? 1;
  const text = lines.map((line) => line.text).join("\n");
  const duplicates: FrontMatterProblem[] = [];
  try {
    const { value, lineOf } = parseYaml(text, "", {
      firstLine,
      onDuplicate: (line, key) => {
        const message = `the key "${key}" is there twice; the last one counts`;
        duplicates.push({ severity: "warning", line, message });
      },
    });
    if (isRecord(value)) {
      problems.push(...duplicates);
      return { fields: value, leftOver: [], lineOf: (key) => lineOf([key]) };
    }
    const message = "the front matter is not a list of keys and values";
    if (Array.isArray(value)) problems.push({ severity: "error", line: firstLine, message });
  } catch (error) {
    problems.push(describeFailure(error, firstLine));
  }
  const { fields, lineOf, leftOver, problems: more } = repairEntries(lines, known, prose, guarded);
  problems.push(...more);
  if (Object.keys(fields).length === 0) {
    const message = "the front matter is empty, or nothing in it is a key that is known here";
    problems.push({ severity: "error", line: firstLine, message });
  }
  return { fields, leftOver, lineOf };
}

function describeFailure(error: unknown, firstLine: number): FrontMatterProblem {
  if (!(error instanceof MandateError)) throw error;
  const [, line = String(firstLine), problem = ""] =
    /^:(\d+): ([\s\S]*)$/.exec(error.message) ?? [];
  const [what = ""] = problem.split("\n");
  // What would have been merged in may be a restriction, and no repair brings it back.
  if (what.startsWith("merge keys"))
    return { severity: "error", line: Number(line), message: what };
  const message = `not valid YAML, repaired: ${what}`;
  return { severity: "warning", line: Number(line), message };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
