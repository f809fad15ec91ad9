import { parseArgs } from "node:util";

export interface Options {
  readonly quick: boolean;
  /** Null: every subject there is. */
  readonly only: readonly string[] | null;
  readonly measures: readonly string[];
  readonly reps: number;
  readonly json: string | undefined;
  /** Where the document goes; undefined when what is measured is not the whole. */
  readonly results: string | undefined;
}

const measureNames = [
  "overhead",
  "chain5",
  "long200",
  "fanout100",
  "fanout1000",
  "live300",
  "cold",
  "install",
] as const;

export const usage = `usage: npm run bench -- [options]

  --quick            one repetition, short loops: to see that it works, not for numbers
  --only a,b         which subjects (all: the floors and the peers too, which are installed first)
  --measures a,b     which of ${measureNames.join(", ")} (all)
  --reps N           repetitions (5)
  --json FILE        everything measured, as JSON
  --bars[=TEXT]      only the promises about speed, as ratios; those with TEXT in their name
  --results FILE     the document (bench/RESULTS.md, after a whole benchmark that is not quick)`;

/** Throws a sentence for people when something is not what it should be. */
export function parseOptions(words: readonly string[], document: string): Options {
  const { values } = parseArgs({
    args: [...words],
    options: {
      quick: { type: "boolean", default: false },
      only: { type: "string" },
      measures: { type: "string" },
      reps: { type: "string" },
      json: { type: "string" },
      results: { type: "string" },
    },
  });
  const { quick, measures } = values;
  const reps = Number(values.reps ?? (quick ? 1 : 5));
  if (!Number.isSafeInteger(reps) || reps < 1) {
    throw new Error(`--reps is a whole number from 1 on, not "${values.reps}".`);
  }
  const wanted = measures?.split(",") ?? measureNames;
  const unknown = wanted.find((name) => !measureNames.some((known) => known === name));
  if (unknown !== undefined) throw new Error(`There is no measure "${unknown}".`);
  const isWhole = !quick && measures === undefined && values.only === undefined;
  return {
    quick,
    only: values.only?.split(",") ?? null,
    measures: wanted,
    reps,
    json: values.json,
    results: values.results ?? (isWhole ? document : undefined),
  };
}
