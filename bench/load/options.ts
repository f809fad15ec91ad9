import { parseArgs } from "node:util";

export const parts = ["children", "queue", "store"] as const;
export type Part = (typeof parts)[number];

export interface Options {
  /** Milliseconds; undefined: no soak, the other parts. */
  readonly soakMs: number | undefined;
  readonly paceMs: number;
  readonly parts: readonly Part[];
  readonly children: number;
  readonly queued: number;
  readonly events: number;
  readonly csv: string | undefined;
  /** A home to keep and to use again, so that its events are generated once. */
  readonly home: string | undefined;
  /** Where the document goes; undefined when what is measured is not the whole. */
  readonly results: string | undefined;
}

export const usage = `usage: npm run load -- [options]

  --parts a,b        which of ${parts.join(", ")} (all)
  --children N       children at work at once (200)
  --queued N         delegations that are asked for at once (10000)
  --events N         stored events of the large home (1000000)
  --home DIR         keep the large home there, and use it again
  --soak DURATION    a server under steady load instead: 60m, 90s
  --pace MS          between two runs of the soak (800)
  --csv FILE         the samples of the soak (bench/load/soak.csv)
  --results FILE     the document (bench/LOAD.md, after a whole measure)`;

const whole = { children: 200, queued: 10_000, events: 1_000_000 };

/** Throws a sentence for people when something is not what it should be. */
export function parseOptions(words: readonly string[], document: string): Options {
  const text = { type: "string" } as const;
  const { values } = parseArgs({
    args: [...words],
    options: {
      ...{ parts: text, children: text, queued: text, events: text, home: text },
      ...{ soak: text, pace: text, csv: text, results: text },
    },
  });
  const wanted = values.parts?.split(",") ?? parts;
  const chosen = wanted.map((name) => {
    const part = parts.find((known) => known === name);
    if (part === undefined) throw new Error(`There is no part "${name}".`);
    return part;
  });
  const sizes = {
    children: countOf("children", values.children, whole.children),
    queued: countOf("queued", values.queued, whole.queued),
    events: countOf("events", values.events, whole.events),
  };
  const isWhole =
    sizes.children >= whole.children &&
    sizes.queued >= whole.queued &&
    sizes.events >= whole.events;
  return {
    ...sizes,
    soakMs: values.soak === undefined ? undefined : durationOf(values.soak),
    paceMs: countOf("pace", values.pace, 800),
    parts: chosen,
    csv: values.csv,
    home: values.home,
    results: values.results ?? (isWhole ? document : undefined),
  };
}

function countOf(name: string, text: string | undefined, usual: number): number {
  const count = text === undefined ? usual : Number(text);
  if (Number.isSafeInteger(count) && count > 0) return count;
  throw new Error(`--${name} is a whole number from 1 on, not "${text}".`);
}

const units = { s: 1000, m: 60_000, h: 3_600_000 };

function durationOf(text: string): number {
  const [, count = "", unit = ""] = /^([0-9]{1,6})([smh])$/.exec(text) ?? [];
  const ms = Number(count) * (units[unit as keyof typeof units] ?? Number.NaN);
  if (ms > 0) return ms;
  throw new Error(`--soak takes a time such as 60m or 90s, not "${text}".`);
}
