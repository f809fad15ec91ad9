import { parseArgs } from "node:util";

export interface Options {
  readonly kills: number;
  readonly seed: number;
  readonly children: number;
  readonly synchronous: "full" | "normal";
  readonly everyAppend: boolean;
}

export const usage = `usage: npm run torture -- [options]

  --kills N                  kills in all (300)
  --seed N                   the same plan of kills as another time
  --children N               children of each run (8)
  --synchronous full|normal  of SQLite (full)
  --every-append             instead of random moments, die inside, before and after
                             every commit of a run, and again in the recovery from it`;

/** Throws a sentence for people when something is not what it should be. */
export function parseOptions(words: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...words],
    options: {
      kills: { type: "string", default: "300" },
      seed: { type: "string", default: String(Math.floor(Math.random() * 2 ** 31)) },
      children: { type: "string", default: "8" },
      synchronous: { type: "string", default: "full" },
      "every-append": { type: "boolean", default: false },
    },
  });
  const { synchronous } = values;
  if (synchronous !== "full" && synchronous !== "normal") {
    throw new Error(`--synchronous is full or normal, not "${synchronous}".`);
  }
  return {
    kills: whole("kills", values.kills, 1),
    seed: whole("seed", values.seed, 0),
    children: whole("children", values.children, 1),
    synchronous,
    everyAppend: values["every-append"],
  };
}

function whole(name: string, text: string, least: number): number {
  const number = Number(text);
  if (Number.isSafeInteger(number) && number >= least) return number;
  throw new Error(`--${name} is a whole number from ${least} on, not "${text}".`);
}
