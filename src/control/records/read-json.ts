import { nearestKey } from "../../agents/documents/nearest-key.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import { quote } from "./shown-text.ts";
import { type JsonCaps, parseStrictJson } from "./strict-json.ts";

/** What one record may hold. */
const recordCaps: JsonCaps = { bytes: 256 * 1024, depth: 32 };

const maximumProblems = 10;

export type JsonRecord = Readonly<Record<string, unknown>>;

/**
 * JSON data from text, or from a value that goes through the same text: what has no JSON form
 * (circles, functions, inherited keys, endless depth) ends here.
 */
export function readJson(source: unknown, what: string, caps: JsonCaps = recordCaps): unknown {
  const text = typeof source === "string" ? source : serialise(source);
  const read = text === undefined ? { problem: "not JSON" } : parseStrictJson(text, caps);
  if ("value" in read) return read.value;
  throw new MandateError("config-invalid", `${what}: ${read.problem}`);
}

function serialise(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}

export function isRecord(value: unknown): value is JsonRecord {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** An unknown key may be a restriction with a typo in it. */
export function checkKeys(
  value: JsonRecord,
  known: readonly string[],
  path: string,
  problems: string[],
): void {
  for (const key of Object.keys(value)) {
    if (known.includes(key)) continue;
    const nearest = nearestKey(key, known);
    const hint =
      nearest === undefined ? `known are ${known.join(", ")}` : `did you mean "${nearest}"?`;
    problems.push(`${path === "" ? "" : `${path}: `}unknown key ${quote(key)}; ${hint}`);
  }
}

/** Throws what was found, one problem a line. */
export function refuseProblems(problems: readonly string[]): void {
  if (problems.length === 0) return;
  const shown = problems.slice(0, maximumProblems);
  if (problems.length > shown.length) shown.push(`… and ${problems.length - shown.length} more`);
  throw new MandateError("config-invalid", shown.join("\n"));
}
