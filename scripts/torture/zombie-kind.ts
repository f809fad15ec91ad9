import { rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { examineRun } from "./examine.ts";
import type { Job } from "./job.ts";
import type { Kind, Round } from "./kind.ts";
import { KnownRun } from "./known-run.ts";
import { liveOnce } from "./life.ts";
import { prepareJob, TortureFailure } from "./torture-run.ts";
import { type Ending, WorkerProcess } from "./worker-process.ts";

const longestMs = 60_000;

/**
 * A process is stopped, another one works on what it had, and then it goes on as if nothing had
 * happened. Where everybody can see that it is only stopped, nobody may take its run.
 */
export const zombies: Kind = {
  name: "zombie",
  does: "is taken over from a stopped process, which then wakes up",
  stores: ["sqlite", "postgres"],
  rounds: { usual: 6, long: 100 },
  job: { children: 5, cast: ["runner", "bookkeeper", "reader", "writer"], rounds: 3, speed: 1 },
  async play(round) {
    const job = prepareJob(round.name, round.ground);
    const zombie = new Zombie(job, round);
    try {
      await zombie.play();
    } finally {
      zombie.end();
    }
    await round.ground.place.forget(job);
    rmSync(join(round.ground.folder, round.name), { recursive: true });
  },
};

class Zombie {
  readonly #job: Job;
  readonly #round: Round;
  readonly #known = new KnownRun();
  readonly #workers: WorkerProcess[] = [];

  constructor(job: Job, round: Round) {
    this.#job = job;
    this.#round = round;
  }

  async play(): Promise<void> {
    const { ground, random } = this.#round;
    const { place } = ground;
    const began = Promise.withResolvers<void>();
    const zombie = this.#start((type) => type === "committed" && began.resolve());
    await Promise.race([began.promise, zombie.ended]);
    await sleep(random() * 600);
    zombie.kill("SIGSTOP");
    // On one machine a stopped process is seen to be there: its run is left alone.
    const isSeen = place.name === "sqlite" && random() < 0.3;
    if (place.name === "postgres") await this.#waitForLease(random() < 0.3);
    const report = await liveOnce({
      job: this.#job,
      fate: { kind: "lives", conditions: isSeen ? {} : { isElsewhere: true } },
      known: this.#known,
      compileCache: ground.compileCache,
    });
    const wasHeld = /is locked/.test(report.problem ?? "");
    // Stopped in the middle of a transaction it holds the lock, and nobody can write.
    if (report.problem !== undefined && !wasHeld) this.#fail([report.problem]);
    ground.tally.lived(report);
    zombie.kill("SIGCONT");
    const ending = await Promise.race([zombie.ended, sleep(longestMs)]);
    if (ending === undefined) this.#fail(["The process that had been stopped did not end."]);
    else if (ending.code !== 0)
      this.#fail([
        `The zombie ended with ${ending.code ?? ending.signal}:`,
        (ending as Ending).complaints,
      ]);
    const { acknowledged } = this.#known;
    const examined = await examineRun(this.#job, acknowledged, ground.undisturbed, false);
    this.#fail(examined.problems);
    ground.tally.finished(examined.outcome, examined.events, acknowledged.length);
  }

  /** Whatever became of it, nobody of this round is left. */
  end(): void {
    for (const worker of this.#workers) worker.kill("SIGKILL");
  }

  #start(hear: (type: string) => void): WorkerProcess {
    const { compileCache } = this.#round.ground;
    const worker = new WorkerProcess(
      { job: this.#job, conditions: {}, compileCache },
      (message) => {
        this.#known.hear(message);
        hear(message.type);
      },
    );
    this.#workers.push(worker);
    return worker;
  }

  /** For real now and then; otherwise the database is told that it has passed. */
  async #waitForLease(isReal: boolean): Promise<void> {
    if (isReal) await sleep(5500);
    else await this.#round.ground.place.afterDeath(this.#job);
  }

  #fail(problems: readonly string[]): void {
    const { ground, name } = this.#round;
    if (problems.length > 0) throw new TortureFailure(problems, join(ground.folder, name));
  }
}
