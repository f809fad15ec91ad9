import {
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
} from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import type { Kind, Measured } from "./kind.ts";
import { randomFrom, seedOf } from "./random.ts";
import type { StorePlace } from "./store-place.ts";
import { countCalls, lackOfTracing } from "./system-calls.ts";
import { Tally } from "./tally.ts";
import { type Ground, TortureFailure, tortureRun } from "./torture-run.ts";

export interface TortureOptions {
  readonly seed: number;
  /** Absent: as the kind says. */
  readonly rounds?: number | "all";
  /** This round alone. */
  readonly point?: string;
  readonly synchronous: "full" | "normal";
  readonly children?: number;
}

export interface KindReport {
  readonly kind: string;
  readonly store: string;
  readonly rounds: number;
  /** The number of points that can be tried; null: without end. */
  readonly points: number | null;
  readonly tally: Tally;
  readonly seconds: number;
}

/** A round that failed: how to have it again. */
export class FailedRound extends Error {
  readonly kind: string;
  readonly store: string;
  readonly point: string;
  readonly folder: string;

  constructor(failure: Error, kind: Kind, { name }: StorePlace, point: string, folder: string) {
    super(failure.message, { cause: failure });
    this.kind = kind.name;
    this.store = name;
    this.point = point;
    this.folder = folder;
  }
}

/** All rounds of one kind on one store. Throws `FailedRound`. */
export async function torture(
  kind: Kind,
  place: StorePlace,
  options: TortureOptions,
  onChange: (tally: Tally) => void = () => {},
): Promise<KindReport> {
  const began = performance.now();
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "mandate-torture-")));
  const compileCache = join(tmpdir(), `mandate-torture-compiled-${process.pid}`);
  mkdirSync(compileCache, { recursive: true });
  const { children = kind.job.children, synchronous } = options;
  const job = { ...kind.job, children, synchronous };
  const bare: Ground = { folder, compileCache, place, job, tally: new Tally() };
  const measured = await measure(kind, bare, options.point === undefined);
  const tally: Tally = new Tally(() => onChange(tally));
  const ground = { ...bare, tally, undisturbed: measured.outcome };
  const all = kind.points?.(measured);
  const chosen = choose(kind, all, options);
  const play = async (point: string): Promise<void> => {
    const random = randomFrom(seedOf(options.seed, hashOf(point)));
    const name = `${kind.name}-${point.replaceAll(/[^a-z0-9]+/gi, "-")}`;
    try {
      await kind.play({ name, point, random, ground });
    } catch (error) {
      const kept = error instanceof TortureFailure ? error.folder : join(folder, name);
      throw new FailedRound(error as Error, kind, place, point, kept);
    }
  };
  const lanes = kind.isAlone ? 1 : Math.max(2, availableParallelism());
  await playAll(chosen, play, lanes);
  const left = leftOver(folder);
  if (left.length > 0) {
    const problem = new Error(`Processes were left over: ${left.join(", ")}.`);
    throw new FailedRound(problem, kind, place, chosen.at(-1) ?? "", folder);
  }
  rmSync(folder, { recursive: true });
  const seconds = (performance.now() - began) / 1000;
  const points = all?.length ?? null;
  return { kind: kind.name, store: place.name, rounds: chosen.length, points, tally, seconds };
}

async function measure(kind: Kind, ground: Ground, isCounted: boolean): Promise<Measured> {
  const trace = join(ground.folder, "calls.txt");
  const isTraced = isCounted && kind.needsTrace === true && lackOfTracing() === undefined;
  const report = await tortureRun("undisturbed", () => ({ kind: "lives" }), ground, {
    ...(isTraced && { trace }),
  });
  const calls = existsSync(trace) ? countCalls(trace) : { pwrite64: 0, fsync: 0 };
  return { ...report, store: ground.place.name, calls };
}

/** All points, or so many of them, the same for the same seed. */
function choose(
  kind: Kind,
  all: readonly string[] | undefined,
  { point, rounds = kind.rounds.usual, seed }: TortureOptions,
): readonly string[] {
  if (point !== undefined) return [point];
  if (all === undefined) {
    const count = rounds === "all" ? kind.rounds.usual : rounds;
    return Array.from({ length: count }, (_, index) => String(index + 1));
  }
  if (rounds === "all" || rounds >= all.length) return all;
  const random = randomFrom(seedOf(seed, all.length));
  const shuffled = all.map((each) => [random(), each] as const).sort(([one], [two]) => one - two);
  return shuffled.slice(0, rounds).map(([, each]) => each);
}

async function playAll(
  points: readonly string[],
  play: (point: string) => Promise<void>,
  lanes: number,
): Promise<void> {
  const waiting = [...points];
  const lane = async (): Promise<void> => {
    for (let point = waiting.shift(); point !== undefined; point = waiting.shift()) {
      await play(point).catch((error: unknown) => {
        waiting.length = 0;
        throw error;
      });
    }
  };
  // All of them end before we do, so that no process outlives a failure.
  const ends = await Promise.allSettled(Array.from({ length: lanes }, lane));
  const failed = ends.find(({ status }) => status === "rejected");
  if (failed?.status === "rejected") throw failed.reason;
}

function hashOf(text: string): number {
  let mixed = 0;
  for (const character of text) mixed = (Math.imul(mixed, 33) + character.charCodeAt(0)) >>> 0;
  return mixed;
}

/** Workers name their folders in their arguments. Where there is no /proc, nobody can look. */
function leftOver(folder: string): string[] {
  return globSync("/proc/[0-9]*/cmdline").filter((file) => {
    try {
      return readFileSync(file, "utf8").includes(folder);
    } catch {
      return false;
    }
  });
}
