import type { z } from "zod";
import { clip } from "../../text.ts";
import { nearestKey } from "./nearest-key.ts";
import type { YamlPath } from "./read-yaml.ts";

export interface ProblemSource {
  /** The path of the file, or the name of the value. */
  readonly file: string;
  /** Absent for a value that has no lines. */
  readonly lineOf?: (path: YamlPath) => number;
  /** The schema that the value violates; unknown keys are compared with its keys. */
  readonly schema: z.core.$ZodType;
}

const maximumProblems = 10;

/**
 * The validation errors of a file, one a line, in the order of the file: `mandate.yaml:4: unknown
 * key "maxDetph"; did you mean "maxDepth"?`
 */
export function describeProblem(error: z.core.$ZodError, source: ProblemSource): string {
  // The search for a line parses the file again: a file with thousands of errors must not take
  // minutes.
  const all = error.issues
    .slice(0, 1000)
    .flatMap((issue) => explain(issue, { schemas: [source.schema], above: [], noun: "key" }));
  const problems = all
    .slice(0, 10 * maximumProblems)
    .map(({ path, text }) => ({ line: source.lineOf?.(path) ?? null, text }))
    .sort((left, right) => (left.line ?? 0) - (right.line ?? 0))
    .map(({ line, text }) => `${source.file}${line === null ? "" : `:${line}`}: ${text}`);
  const shown = problems.slice(0, maximumProblems);
  if (all.length > shown.length) shown.push(`… and ${all.length - shown.length} more`);
  return shown.join("\n");
}

/** The validation errors of an input in one line; clipped, because there can be thousands. */
export function describeIssues(
  error: z.core.$ZodError,
  schema: z.core.$ZodType,
  noun: Place["noun"] = "key",
): string {
  const place = { schemas: [schema], above: [], noun };
  const problems = error.issues.slice(0, maximumProblems).flatMap((issue) => explain(issue, place));
  return clip(problems.map(({ text }) => text).join("; "), 4001);
}

interface Problem {
  readonly path: YamlPath;
  readonly text: string;
}

type Schemas = readonly z.core.$ZodType[];

interface Place {
  readonly schemas: Schemas;
  readonly above: YamlPath;
  /** What the author calls a key. */
  readonly noun: "key" | "parameter";
}

function explain(issue: z.core.$ZodIssue, { above, noun, schemas }: Place): Problem[] {
  const own = issue.path as YamlPath;
  const path = [...above, ...own];
  if (issue.code === "unrecognized_keys") {
    const known = knownKeysAt(schemas, own);
    return issue.keys.slice(0, 1000).map((key) => {
      return { path: [...path, key], text: `unknown ${noun} ${unknownKey(key, known)}` };
    });
  }
  if (issue.code === "invalid_union") {
    const branch = closestBranch(issue.errors);
    if (branch !== undefined) {
      const inner = { schemas: schemasAt(schemas, own), above: path, noun };
      return branch.flatMap((each) => explain(each, inner));
    }
    const kinds = issue.errors.flat().map(expectation).filter(isPresent);
    if (kinds.length > 0) return [{ path, text: place(path, `expected ${orList(kinds)}`) }];
  }
  if (issue.code === "invalid_type" && issue.message.endsWith("received undefined")) {
    return [{ path, text: `missing ${noun} "${renderPath(path)}"` }];
  }
  return [{ path, text: place(path, plainMessage(issue)) }];
}

function unknownKey(key: string, known: readonly string[]): string {
  const nearest = nearestKey(key, known);
  const named = JSON.stringify(clip(key, 80));
  if (nearest !== undefined) return `${named}; did you mean "${nearest}"?`;
  return `${named}; known are ${known.join(", ")}`;
}

/**
 * The branch of a union that the author most likely meant: it accepts the kind of the value and has
 * the fewest errors. Undefined when no branch accepts the kind of the value.
 */
function closestBranch(branches: readonly (readonly z.core.$ZodIssue[])[]) {
  const fitting = branches.filter((issues) => !issues.some(isOfAnotherKind));
  return fitting.sort((left, right) => left.length - right.length)[0];
}

function isOfAnotherKind(issue: z.core.$ZodIssue): boolean {
  const kind = issue.code === "invalid_type" || issue.code === "invalid_value";
  return issue.path.length === 0 && kind;
}

function expectation(issue: z.core.$ZodIssue): string | undefined {
  if (issue.code === "invalid_type") return issue.expected;
  if (issue.code !== "invalid_value") return undefined;
  return issue.values.map((value) => JSON.stringify(value)).join("|");
}

function isPresent(text: string | undefined): text is string {
  return text !== undefined;
}

function orList(kinds: readonly string[]): string {
  return [...new Set(kinds)].join(" or ");
}

function plainMessage(issue: z.core.$ZodIssue): string {
  const message = issue.message.replace(/^Invalid (input|option): /, "");
  return message.charAt(0).toLowerCase() + message.slice(1);
}

function place(path: YamlPath, text: string): string {
  return path.length === 0 ? text : `${renderPath(path)}: ${text}`;
}

function renderPath(path: YamlPath): string {
  return path.reduce<string>((text, step) => {
    if (typeof step === "number") return `${text}[${step}]`;
    return text === "" ? step : `${text}.${step}`;
  }, "");
}

type Schema = z.core.$ZodType;

/** Every schema that applies to the value at `path`; more than one where there are unions. */
function schemasAt(schemas: readonly Schema[], path: YamlPath): Schema[] {
  let current = schemas.flatMap(alternatives);
  for (const step of path) {
    current = current.flatMap((schema) => below(schema, step)).flatMap(alternatives);
  }
  return current;
}

/** The keys that any of the schemas allows for an object at `path`. */
function knownKeysAt(schemas: readonly Schema[], path: YamlPath): string[] {
  const keys = schemasAt(schemas, path).flatMap((schema) => {
    const { def } = (schema as z.core.$ZodTypes)._zod;
    return def.type === "object" ? Object.keys(def.shape) : [];
  });
  return [...new Set(keys)];
}

/** The schema without its wrappers, and each option of a union. */
function alternatives(schema: Schema): Schema[] {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  switch (def.type) {
    case "optional":
    case "nullable":
    case "default":
    case "prefault":
    case "catch":
    case "readonly":
    case "nonoptional":
      return alternatives(def.innerType);
    case "pipe":
      return alternatives(def.in);
    case "lazy":
      return alternatives(def.getter());
    case "union":
      return def.options.flatMap(alternatives);
    case "intersection":
      return [def.left, def.right].flatMap(alternatives);
    default:
      return [schema];
  }
}

function below(schema: Schema, step: string | number): Schema[] {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  switch (def.type) {
    case "object": {
      const inner = Object.hasOwn(def.shape, step) ? def.shape[step] : def.catchall;
      return inner === undefined ? [] : [inner];
    }
    case "array":
      return [def.element];
    case "record":
      return [def.valueType];
    case "tuple": {
      const inner = def.items[Number(step)] ?? def.rest;
      return inner === null ? [] : [inner];
    }
    default:
      return [];
  }
}
