import { MandateError } from "../../ports/mandate-error.ts";
import { isRecord } from "../../ports/parse-json.ts";
import { findFrontMatter, opensAt } from "./find-front-matter.ts";
import { findMislaidKeys } from "./find-mislaid-keys.ts";
import { parseYaml } from "./read-yaml.ts";
import { type EntryLine, type KeySets, repairEntries } from "./repair-entries.ts";

export interface FrontMatterProblem {
  readonly severity: "warning" | "error";
  /** The line in the file, from 1. */
  readonly line: number;
  readonly message: string;
}

interface FrontMatterOptions {
  /**
   * The keys of the format. In invalid YAML, a line that begins with one of them begins a value.
   */
  readonly knownKeys: Iterable<string>;
  /** Keys whose values are prose, which may contain anything. */
  readonly proseKeys?: Iterable<string>;
  /** Keys that restrict. A line that may mean such a key, and does not set it, is an error. */
  readonly guardedKeys?: Iterable<string>;
}

interface FrontMatter {
  /**
   * Whether the text has a front matter. If not, `fields` is empty and `body` is the whole text.
   */
  readonly isPresent: boolean;
  /** Plain data without a `__proto__` key. Empty when a problem is an error. */
  readonly fields: Readonly<Record<string, unknown>>;
  readonly body: string;
  /** Whether the text was repaired; `problems` says how. */
  readonly isRepaired: boolean;
  readonly problems: readonly FrontMatterProblem[];
  lineOf(key: string): number;
}

const defaultProse = ["description"];
/** Far above the size of real front matter, and small enough to be repaired quickly. */
const maximumLength = 128 * 1024;
const maximumProblems = 100;
/** A second front matter has to be closed within this many lines. */
const maximumSecond = 200;

/**
 * Reads the front matter of files of other programs: agents, chat modes, SKILL.md. Invalid YAML is
 * repaired: a known key at the start of a line begins a value, and other lines continue the value
 * before them. Lenient about syntax alone: a key of `guardedKeys` that is lost in the value before
 * it is an error. Never throws. Files in our own formats are read by `parseYaml`, which refuses
 * invalid YAML.
 */
export function readFrontMatter(text: string, options: FrontMatterOptions): FrontMatter {
  const known = toSet(options.knownKeys);
  const prose = toSet(options.proseKeys ?? defaultProse);
  const guarded = toSet(options.guardedKeys ?? []);
  // Most files contain no carriage return, and the search for that alone is many times faster.
  const plain = text.includes("\r") ? text.replaceAll(/\r\n?/g, "\n") : text;
  const lines = plain.replace(/^\uFEFF/, "").split("\n");
  const found = findFrontMatter(lines, known);
  const problems: FrontMatterProblem[] = [...found.problems];
  if (found.kind === "none" || problems.some(isError)) {
    return { ...nothing, isPresent: found.kind === "found", body: lines.join("\n"), problems };
  }

  if (found.lines.reduce((sum, { text: line }) => sum + line.length, 0) > maximumLength) {
    const message = `the front matter is larger than ${maximumLength / 1024} KB`;
    problems.push({ severity: "error", line: found.lines[0]?.line ?? 1, message });
    return { ...nothing, isPresent: true, body: lines.join("\n"), problems };
  }
  const read = readFields(found.lines, { known, prose, guarded }, problems);
  let body = found.body.join("\n");
  if (read.leftOver.length > 0) body = `${read.leftOver.join("\n")}\n\n${body}`;
  const fields = { ...read.fields, ...readSecond(found, read.fields, options, problems) };
  problems.push(...findMislaidKeys({ ...found, fields, lineOf: read.lineOf }, guarded));
  const hasFailed = problems.some(isError);
  return {
    isPresent: true,
    fields: hasFailed ? {} : fields,
    body,
    isRepaired: problems.length > 0,
    problems: shorten(problems),
    lineOf: read.lineOf,
  };
}

/**
 * The restrictions of a second front matter at the top of the body. It is text, but a restriction
 * in it was meant, so it applies.
 */
function readSecond(
  { body, bodyLine }: { readonly body: readonly string[]; readonly bodyLine: number },
  first: Readonly<Record<string, unknown>>,
  options: FrontMatterOptions,
  problems: FrontMatterProblem[],
): Record<string, unknown> {
  const start = body.findIndex((line) => line.trim() !== "");
  if (start < 0 || !opensAt(body, start, toSet(options.knownKeys))) return {};
  // The recursion reads each further block inside the body of the one before it.
  const second = readFrontMatter(body.slice(start, start + maximumSecond).join("\n"), options);
  if (!second.isPresent) return {};
  const guarded = [...(options.guardedKeys ?? [])].filter((key) => !Object.hasOwn(first, key));
  const found = guarded.filter((key) => Object.hasOwn(second.fields, key));
  for (const { line, message, severity } of second.problems) {
    if (severity === "error" && guarded.length > 0) {
      problems.push({ severity, line: line + bodyLine + start - 1, message });
    }
  }
  for (const key of found) {
    const message = `"${key}" is in a second front matter block; the restriction applies all the same`;
    problems.push({
      severity: "warning",
      line: second.lineOf(key) + bodyLine + start - 1,
      message,
    });
  }
  return Object.fromEntries(found.map((key) => [key, second.fields[key]]));
}

function toSet(keys: Iterable<string>): ReadonlySet<string> {
  return keys instanceof Set ? keys : new Set(keys);
}

const nothing = { fields: {}, isRepaired: false, lineOf: () => 1 } as const;

/** Limits the number of problems; no error is left out. */
function shorten(problems: readonly FrontMatterProblem[]): readonly FrontMatterProblem[] {
  if (problems.length <= maximumProblems) return problems;
  return [...problems.filter(isError), ...problems].slice(0, maximumProblems);
}

function isError(problem: FrontMatterProblem): boolean {
  return problem.severity === "error";
}

/** The keys and values of a front matter. */
interface ReadFields {
  readonly fields: Record<string, unknown>;
  /** Lines in the front matter that belong to no value. */
  readonly leftOver: readonly string[];
  lineOf(key: string): number;
}

/** Reads valid YAML strictly, and anything else entry by entry. */
function readFields(
  lines: readonly EntryLine[],
  keys: KeySets,
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
  const { fields, lineOf, leftOver, problems: more } = repairEntries(lines, keys);
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
  // The merged value may be a restriction, and no repair restores it.
  if (what.startsWith("merge keys"))
    return { severity: "error", line: Number(line), message: what };
  const message = `not valid YAML, repaired: ${what}`;
  return { severity: "warning", line: Number(line), message };
}
