import { readFileSync } from "node:fs";

interface ParseCase {
  readonly id: string;
  readonly script: string;
  /** What the original runtime does with it. */
  readonly original: "accepted" | "refused";
  readonly status?: "completed" | "failed";
  readonly result?: unknown;
}

interface Conformance {
  readonly parse: readonly ParseCase[];
  readonly semantics: Script<unknown>;
  readonly globals: Script<string>;
  /** Scripts that the others call by name, by file. */
  readonly children: Readonly<Record<string, string>>;
  /** Scripts that are killed in their last agent, and resumed. */
  readonly resume: Readonly<Record<string, string>>;
}

interface Script<Expected> {
  readonly script: string;
  readonly expected: Readonly<Record<string, Expected>>;
}

/** Scripts, and what the runtime that the format comes from does with each. */
export const conformance: Conformance = JSON.parse(
  readFileSync(new URL("./conformance.json", import.meta.url), "utf8"),
);
