import { parseArgs } from "node:util";

export interface Options {
  /** For all targets together. */
  readonly seconds: number;
  readonly seed: number;
  /** Names of targets or surfaces, or the beginnings of them. */
  readonly only: readonly string[];
  readonly path?: string;
  readonly isList: boolean;
  /** The tests of properties with all their cases, instead of the targets. */
  readonly isProperties: boolean;
}

export const usage = `usage: npm run fuzz -- [options]

  --seconds N   how long in all (60, or MANDATE_FUZZ_SECONDS)
  --only NAME   a target or a surface, by the beginning of its name; may be given several times
  --seed N      the same cases as another time
  --path P      one case of that seed, as a failure names it
  --properties  the tests of properties, with all their cases, instead
  --list        what there is to fuzz, and what has to hold`;

/** Throws a sentence for people when something is not what it should be. */
export function parseOptions(
  words: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): Options {
  const { values } = parseArgs({
    args: [...words],
    options: {
      seconds: { type: "string", default: environment["MANDATE_FUZZ_SECONDS"] || "60" },
      seed: { type: "string", default: String(Math.floor(Math.random() * 2 ** 31)) },
      only: { type: "string", multiple: true, default: [] },
      path: { type: "string" },
      list: { type: "boolean", default: false },
      properties: { type: "boolean", default: false },
    },
  });
  const [seconds, seed] = [Number(values.seconds), Number(values.seed)];
  if (!(seconds > 0)) throw new Error(`--seconds is a number over 0, not "${values.seconds}".`);
  if (!Number.isSafeInteger(seed)) {
    throw new Error(`--seed is a whole number, not "${values.seed}".`);
  }
  return {
    ...{ seconds, seed, only: values.only, isList: values.list, isProperties: values.properties },
    ...(values.path !== undefined && { path: values.path }),
  };
}
