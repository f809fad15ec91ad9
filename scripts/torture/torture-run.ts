import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { examineCrash, examineRun, isUnfinished } from "./examine.ts";
import type { Job } from "./job.ts";
import { KnownRun } from "./known-run.ts";
import { type Fate, liveOnce } from "./life.ts";
import type { Outcome } from "./outcome.ts";
import type { StorePlace } from "./store-place.ts";
import type { Tally } from "./tally.ts";
import { createWorkspace } from "./workspace.ts";

/** Decides what becomes of the next process, given how many there were. */
export type NextFate = (lives: number) => Fate;

/** What all runs of one kind share. */
export interface Ground {
  readonly folder: string;
  readonly compileCache: string;
  readonly place: StorePlace;
  readonly job: Omit<Job, "home" | "workspace" | "postgres">;
  readonly tally: Tally;
  /** Absent for the undisturbed run itself. */
  readonly undisturbed?: Outcome;
}

export interface RunReport {
  readonly outcome: Outcome;
  readonly commits: number;
  readonly fileWrites: number;
}

export interface RunOptions {
  /** A file for the list of system calls that write. */
  readonly trace?: string;
  /** How workers see it. */
  readonly through?: (job: Job) => Job;
  /** What its workers tell, as it comes. */
  readonly known?: KnownRun;
  /** Before a run that is done is examined. */
  readonly beforeLook?: () => Promise<unknown>;
}

/** Something does not hold; the folder has been kept. */
export class TortureFailure extends Error {
  readonly folder: string;

  constructor(problems: readonly string[], folder: string) {
    super(problems.join("\n"));
    this.name = "TortureFailure";
    this.folder = folder;
  }
}

/** So many processes work on one run at most, those that live in peace included. */
const mostLives = 40;

export function prepareJob(name: string, { folder, job, place }: Ground): Job {
  const home = join(folder, name, "home");
  const workspace = join(folder, name, "workspace");
  mkdirSync(home, { recursive: true });
  createWorkspace(workspace, job.hasRepository);
  return { ...job, home, workspace, ...place.placeOf(name) };
}

/** One run from its start to its end, over as many lives as it takes. Leaves nothing behind. */
export async function tortureRun(
  name: string,
  next: NextFate,
  ground: Ground,
  options: RunOptions = {},
): Promise<RunReport> {
  const { tally, compileCache, place } = ground;
  const job = prepareJob(name, ground);
  const { beforeLook, trace, through = (same: Job) => same } = options;
  const { known = new KnownRun() } = options;
  const require = (problems: readonly string[]): void => {
    if (problems.length > 0) throw new TortureFailure(problems, join(ground.folder, name));
  };
  let wasFaulted = false;
  for (let lives = 0; lives < mostLives; lives++) {
    const fate = next(lives);
    const { calls, files } = fate.conditions ?? {};
    const isFaulted = calls !== undefined || files !== undefined;
    wasFaulted ||= isFaulted;
    const life = await liveOnce({
      ...{ job: through(job), fate, known, compileCache },
      ...(trace !== undefined && { trace }),
    });
    tally.lived(life);
    if (life.problem !== undefined) require([life.problem]);
    if (life.ended === "killed" || life.ended === "gave-up") {
      require(await examineCrash(job, known.acknowledged));
      if (life.ended === "killed") await place.afterDeath(job);
      continue;
    }
    // What it could not write, another process takes up once it can be written.
    if (isFaulted && (await isUnfinished(job))) continue;
    await beforeLook?.();
    const { acknowledged } = known;
    const examined = await examineRun(job, acknowledged, ground.undisturbed, wasFaulted);
    require(examined.problems);
    tally.finished(examined.outcome, examined.events, acknowledged.length);
    await place.forget(job);
    rmSync(join(ground.folder, name), { recursive: true });
    const { commits, fileWrites } = life;
    return { outcome: examined.outcome, commits, fileWrites };
  }
  throw new TortureFailure(
    [`It was not done after ${mostLives} lives.`],
    join(ground.folder, name),
  );
}
