import { existsSync, readFileSync } from "node:fs";
import { median } from "../run/report.ts";

/**
 * A promise about speed, measured as a ratio of two things that are done in the same minute: a slow
 * or busy machine changes both of them.
 */
export interface Bar {
  /** The area, a colon, and the subject: `--bars=files` selects an area. */
  readonly name: string;
  /** What is divided by what. */
  readonly about: string;
  measure(): Promise<number>;
  readonly atMost: number;
}

type Work = () => unknown;

/** Time that grows with the square of the size gives 64; linear time gives 8. */
export const linear = { about: "8 times the size over 1 time", atMost: 32 } as const;

/** Microseconds of processor time of this process: what other programs do is not counted. */
export async function processorTime(work: Work): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { system, user } = process.cpuUsage(before);
  return system + user;
}

/**
 * The processor time of this process and of the child processes that have ended, in steps of 10 ms. Where the
 * system does not say so in a file, the clock has to do.
 */
export async function familyTime(work: Work): Promise<number> {
  const before = familyTicks();
  const took = await clockTime(work);
  return before === undefined ? took : ((familyTicks() ?? Number.NaN) - before) * 10_000;
}

function familyTicks(): number | undefined {
  if (!existsSync("/proc/self/stat")) return undefined;
  const fields = readFileSync("/proc/self/stat", "utf8").split(") ")[1]?.split(" ") ?? [];
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0);
}

/** Microseconds by the clock: for work that waits. */
export async function clockTime(work: Work): Promise<number> {
  const before = performance.now();
  await work();
  return (performance.now() - before) * 1000;
}

export interface RatioOptions {
  readonly rounds?: number;
  readonly time?: typeof processorTime;
  /** Work that takes less than this is repeated until it takes as much. */
  readonly leastUs?: number;
}

/** The median of several rounds, each of which does the work and what it is compared with. */
export async function ratio(
  work: Work,
  baseline: Work,
  { leastUs = 10_000, rounds = 7, time = processorTime }: RatioOptions = {},
): Promise<number> {
  const timeBaseline = await repeated(baseline, leastUs, time);
  const timeWork = await repeated(work, leastUs, time);
  const ratios: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const below = await timeBaseline();
    ratios.push((await timeWork()) / below);
  }
  return median(ratios);
}

/** Warms work up, and gives what times it, as often as it takes to be measurable. */
async function repeated(
  work: Work,
  leastUs: number,
  time: typeof processorTime,
): Promise<() => Promise<number>> {
  let took = 1;
  for (let spent = 0, tries = 0; spent < 3 * leastUs && tries < 1000; tries += 1) {
    took = Math.max(1, await time(work));
    spent += took;
  }
  const times = Math.ceil(leastUs / took);
  return async () => {
    const whole = await time(async () => {
      for (let done = 0; done < times; done += 1) await work();
    });
    return whole / times;
  };
}

/** How many times longer eight times the size takes. `prepare` is not measured. */
export function growth(
  size: number,
  prepare: (size: number) => Work,
  options?: RatioOptions,
): Promise<number> {
  return ratio(prepare(8 * size), prepare(size), options);
}

/** The worst growth among several kinds of input. */
export async function worstGrowth<Kind>(
  kinds: readonly Kind[],
  size: number,
  prepare: (kind: Kind, size: number) => Work,
): Promise<number> {
  let worst = 0;
  for (const kind of kinds) {
    worst = Math.max(
      worst,
      await growth(size, (each) => prepare(kind, each), { rounds: 5, leastUs: 5000 }),
    );
  }
  return worst;
}

const records = Array.from({ length: 1000 }, (_, place) => ({
  id: `record-${place}`,
  place,
  words: ["some", "plain", "words"],
}));

/** About a millisecond of plain JavaScript on the machine that the promises were made on. */
export function yardstick(): unknown {
  return JSON.parse(JSON.stringify(records));
}

/** The longest that some work keeps others from their turn, in yardsticks; the work lets them in. */
export async function longestTurn(work: () => Promise<unknown>): Promise<number> {
  await work();
  const turns: number[] = [];
  let before = process.cpuUsage();
  let isOver = false;
  const probe = (): void => {
    const { system, user } = process.cpuUsage(before);
    turns.push(system + user);
    before = process.cpuUsage();
    if (!isOver) setImmediate(probe);
  };
  setImmediate(probe);
  await work().finally(() => {
    isOver = true;
  });
  const timeStick = await repeated(yardstick, 10_000, processorTime);
  return Math.max(...turns) / (await timeStick());
}
