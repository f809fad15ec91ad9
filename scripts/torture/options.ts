import { parseArgs } from "node:util";
import { kinds } from "./kinds.ts";
import { type StoreName, storeNames } from "./store-place.ts";

export interface Options {
  readonly only: readonly string[];
  readonly stores: readonly StoreName[];
  /** The rounds of each kind; absent: as each kind defines. */
  readonly rounds: number | "all" | undefined;
  readonly point: string | undefined;
  readonly seed: number;
  readonly children: number | undefined;
  readonly synchronous: "full" | "normal";
  readonly long: boolean;
}

const width = Math.max(...kinds.map(({ name }) => name.length));

export const usage = `usage: npm run torture -- [options]

  --only KIND[,KIND]         some kinds alone; otherwise all of them
  --store sqlite|postgres    one store alone
  --rounds N|all             so many rounds of each kind; all: a round for every point there is
  --long                     every write, commit and line, and hundreds of random rounds
  --seed N                   the same rounds as another time
  --point POINT              this round of a kind alone, as a failure names it
  --children N               children of each run
  --synchronous full|normal  of SQLite (full)

A run with children, of each kind on each store that it is for:

${kinds.map(({ name, does, stores }) => `  ${name.padEnd(width)}  ${does} (${stores.join(", ")})`).join("\n")}

That the checker finds what it is for is a test of its own: npm run torture:gate`;

/** Throws a sentence for people when something is not what it should be. */
export function parseOptions(words: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...words],
    options: {
      only: { type: "string" },
      store: { type: "string" },
      rounds: { type: "string" },
      point: { type: "string" },
      seed: { type: "string", default: String(Math.floor(Math.random() * 2 ** 31)) },
      children: { type: "string" },
      synchronous: { type: "string", default: "full" },
      long: { type: "boolean", default: false },
    },
  });
  const { children, point, rounds } = values;
  const names = kinds.map(({ name }) => name);
  const only = values.only?.split(",").map((each) => oneOf("only", each, names)) ?? names;
  if (point !== undefined && (only.length !== 1 || values.store === undefined)) {
    throw new Error(
      "--point is a round of one kind on one store: name them by --only and --store.",
    );
  }
  return {
    only,
    stores: values.store === undefined ? storeNames : [oneOf("store", values.store, storeNames)],
    rounds: rounds === undefined || rounds === "all" ? rounds : whole("rounds", rounds, 1),
    point,
    seed: whole("seed", values.seed, 0),
    children: children === undefined ? undefined : whole("children", children, 1),
    synchronous: oneOf("synchronous", values.synchronous, ["full", "normal"] as const),
    long: values.long,
  };
}

function oneOf<Word extends string>(name: string, text: string, words: readonly Word[]): Word {
  const word = words.find((each) => each === text);
  if (word !== undefined) return word;
  throw new Error(`--${name} is ${words.join(" or ")}, not "${text}".`);
}

function whole(name: string, text: string, least: number): number {
  const number = Number(text);
  if (Number.isSafeInteger(number) && number >= least) return number;
  throw new Error(`--${name} is a whole number from ${least} on, not "${text}".`);
}
