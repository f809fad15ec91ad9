import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { decodeInput, encodeInput } from "./encode-input.ts";

const folder = join(import.meta.dirname, "corpus");

export interface StoredCase {
  readonly file: string;
  readonly input: unknown;
}

/** What once failed, as `{ "why": …, "input": … }`; a target without such cases has no folder. */
export function readCorpus(target: string): readonly StoredCase[] {
  let names: readonly string[];
  try {
    names = readdirSync(join(folder, target));
  } catch {
    return [];
  }
  return names
    .filter((name) => name.endsWith(".json"))
    .sort()
    .map((name) => {
      const file = join(folder, target, name);
      const { input } = JSON.parse(readFileSync(file, "utf8")) as { input: unknown };
      return { file, input: decodeInput(input) };
    });
}

/** Keeps a failing input where it can be looked at; moved into the corpus it is tried every time. */
export function writeFailure(into: string, name: string, why: string, input: unknown): string {
  mkdirSync(into, { recursive: true });
  const file = join(into, `${name}.json`);
  writeFileSync(file, `${JSON.stringify({ why, input: encodeInput(input) }, null, 2)}\n`);
  return file;
}
