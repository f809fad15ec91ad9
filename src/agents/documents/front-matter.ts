import { MandateError } from "../../ports/mandate-error.ts";
import { isRecord } from "../../ports/parse-json.ts";
import { findFrontMatter, opensAt } from "./find-front-matter.ts";
import { findMislaidKeys } from "./find-mislaid-keys.ts";
import { parseYaml } from "./read-yaml.ts";
import { type EntryLine, type KeySets, repairEntries } from "./repair-entries.ts";

export interface FrontMatterProblem {
  readonly severity: "warning" | "error";
  /** From 1, in the file. */
  readonly line: number;
  readonly message: string;
}

interface FrontMatterOptions {
  /** The keys of the format. Where YAML fails, one of them at the start of a line begins a value. */
  readonly knownKeys: Iterable<string>;
  /** Keys whose values are prose, in which anything can stand. */
  readonly proseKeys?: Iterable<string>;
  /** Keys that restrict. A line that may have been meant as one and is not is an error. */
  readonly guardedKeys?: Iterable<string>;
}

interface FrontMatter {
  /** Whether there was any. Without it, `fields` is empty and `body` is the whole text. */
  readonly isPresent: boolean;
  /** Plain data, without a prototype key. Empty where a problem is an error. */
  readonly fields: Readonly<Record<string, unknown>>;
  readonly body: string;
  /** Whether something had to be guessed; `problems` says what. */
  readonly isRepaired: boolean;
  readonly problems: readonly FrontMatterProblem[];
  lineOf(key: string): number;
}

const defaultProse = ["description"];
/** Far above what agents have, and little enough to be repaired in no time. */
const maximumLength = 128 * 1024;
const maximumProblems = 100;
/** Lines in which a second front matter has to be closed. */
const maximumSecond = 200;

/**
 * The front matter of files that other programs read more or less strictly: agents, chat modes,
 * SKILL.md. Strict YAML first; where that fails, a known key at the start of a line begins a value
 * and all else continues the one before. Never throws, whatever the text is. Lenient about syntax
 * alone: what `guardedKeys` say must not get lost in the value before them, so that is an error.
 * Our own files are read by `parseYaml` and refused instead.
 */
export function readFrontMatter(text: string, options: FrontMatterOptions): FrontMatter {
  const known = toSet(options.knownKeys);
  const prose = toSet(options.proseKeys ?? defaultProse);
  const guarded = toSet(options.guardedKeys ?? []);
  // Most files have no other line ends; looking for them alone is many times faster.
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
 * The restrictions of a second front matter at the top of the body. The first one counts and the
 * second is text; but a restriction in it was meant.
 */
function readSecond(
  { body, bodyLine }: { readonly body: readonly string[]; readonly bodyLine: number },
  first: Readonly<Record<string, unknown>>,
  options: FrontMatterOptions,
  problems: FrontMatterProblem[],
): Record<string, unknown> {
  const start = body.findIndex((line) => line.trim() !== "");
  if (start < 0 || !opensAt(body, start, toSet(options.knownKeys))) return {};
  // Each is read with the next one inside its body: the depth is that of the stack of dashes.
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

/** What is wrong a thousand times over is said often enough; an error is never left out. */
function shorten(problems: readonly FrontMatterProblem[]): readonly FrontMatterProblem[] {
  if (problems.length <= maximumProblems) return problems;
  return [...problems.filter(isError), ...problems].slice(0, maximumProblems);
}

function isError(problem: FrontMatterProblem): boolean {
  return problem.severity === "error";
}

/** What the lines of a front matter say. */
interface ReadFields {
  readonly fields: Record<string, unknown>;
  /** Lines that belong to no value: text that slipped into the front matter. */
  readonly leftOver: readonly string[];
  lineOf(key: string): number;
}

/** Strict YAML where it is that, entry by entry where it is not. */
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
  // What would have been merged in may be a restriction, and no repair brings it back.
  if (what.startsWith("merge keys"))
    return { severity: "error", line: Number(line), message: what };
  const message = `not valid YAML, repaired: ${what}`;
  return { severity: "warning", line: Number(line), message };
}
