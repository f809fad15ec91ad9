import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { examineCrash, examineRun } from "./examine.ts";
import type { Job } from "./job.ts";
import { KnownRun } from "./known-run.ts";
import { type Fate, liveOnce } from "./life.ts";
import type { Outcome } from "./outcome.ts";
import type { Tally } from "./tally.ts";
import { createWorkspace } from "./workspace.ts";

/** Decides what becomes of the next process, given how many there were. */
export type NextFate = (lives: number) => Fate;

export interface TortureOptions {
  readonly folder: string;
  readonly compileCache: string;
  readonly job: Omit<Job, "home" | "workspace">;
  readonly tally: Tally;
  /** Absent for the undisturbed run itself. */
  readonly undisturbed?: Outcome;
}

/** Something does not hold; the folder has been kept. */
export class TortureFailure extends Error {
  readonly run: number;
  readonly kill: number;
  readonly folder: string;

  constructor(problems: readonly string[], where: { run: number; kill: number; folder: string }) {
    super(problems.join("\n"));
    this.name = "TortureFailure";
    this.run = where.run;
    this.kill = where.kill;
    this.folder = where.folder;
  }
}

/** One run from its start to its end, over as many lives as it takes. Leaves nothing behind. */
export async function tortureRun(
  number: number,
  next: NextFate,
  options: TortureOptions,
): Promise<{ readonly outcome: Outcome; readonly commits: number }> {
  const { tally, compileCache } = options;
  const folder = join(options.folder, `run-${number}`);
  const job = { ...options.job, home: join(folder, "home"), workspace: join(folder, "workspace") };
  mkdirSync(job.home, { recursive: true });
  createWorkspace(job.workspace);
  const known = new KnownRun();
  const require = (problems: readonly string[]): void => {
    if (problems.length > 0)
      throw new TortureFailure(problems, { run: number, kill: tally.kills, folder });
  };
  for (let lives = 0; ; lives++) {
    const fate = next(lives);
    const life = await liveOnce(job, fate, known, compileCache);
    tally.lived(fate, life);
    if (life.problem !== undefined) require([life.problem]);
    if (life.ended === "killed") {
      require(await examineCrash(job, known.acknowledged));
      continue;
    }
    const { outcome, events, problems } = await examineRun(
      job,
      known.acknowledged,
      options.undisturbed,
    );
    require(problems);
    tally.finished(outcome, events, known.acknowledged.length);
    rmSync(folder, { recursive: true });
    return { outcome, commits: life.commits };
  }
}
