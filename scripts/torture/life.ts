import type { Conditions, Job } from "./job.ts";
import type { KnownRun } from "./known-run.ts";
import { gaveUpCode, type Message } from "./messages.ts";
import { type Ending, WorkerProcess } from "./worker-process.ts";

/** What shall become of one process. */
export type Fate = (
  | /** Killed so many milliseconds after its start, or after its first commit. */
  { readonly kind: "killed"; readonly since: "start" | "first-commit"; readonly ms: number }
  | { readonly kind: "lives" }
) & { readonly conditions?: Conditions };

export interface LifeReport {
  /** How the process ended; "gave-up": its disk was full or broken, and it said so. */
  readonly ended: "killed" | "finished" | "gave-up" | "failed";
  readonly problem: string | undefined;
  /** From its start until every open delegation was taken up; undefined when there were none. */
  readonly recoveryMs: number | undefined;
  readonly recoveredAgain: number;
  readonly commits: number;
  readonly fileWrites: number;
}

export const recoveryBarMs = 5000;
const longestLifeMs = 60_000;

export interface LifeOptions {
  readonly job: Job;
  readonly fate: Fate;
  readonly known: KnownRun;
  readonly compileCache: string;
  readonly trace?: string;
}

/** Lets one process work on a run until it is done or meets its fate. */
export async function liveOnce({ fate, known, ...rest }: LifeOptions): Promise<LifeReport> {
  const life = new Life(fate, known);
  known.beginLife();
  const worker = new WorkerProcess({ ...rest, conditions: fate.conditions ?? {} }, (message) =>
    life.hear(message),
  );
  life.begin(worker);
  return life.report(await worker.ended);
}

class Life {
  readonly #fate: Fate;
  readonly #known: KnownRun;
  readonly #began = performance.now();
  #worker: WorkerProcess | undefined;
  #timers: NodeJS.Timeout[] = [];
  #isDue = false;
  #hasCommitted = false;
  #mustRecover = false;
  #recoveryMs: number | undefined;
  #recoveredAgain = 0;
  #counts = { commits: 0, fileWrites: 0 };
  #takeovers = 0;
  #problem: string | undefined;

  constructor(fate: Fate, known: KnownRun) {
    this.#fate = fate;
    this.#known = known;
  }

  begin(worker: WorkerProcess): void {
    this.#worker = worker;
    if (this.#fate.kind === "killed" && this.#fate.since === "start") this.#killIn(this.#fate.ms);
    this.#after(longestLifeMs, () => this.#fail(`It was not done after ${longestLifeMs} ms.`));
  }

  hear(message: Message): void {
    this.#known.hear(message);
    switch (message.type) {
      case "opened":
        this.#mustRecover = message.open.length > 0;
        // How long a process takes to start is the machine's affair.
        this.#after(recoveryBarMs, () => {
          if (this.#mustRecover)
            this.#fail(`Not everything was taken up after ${recoveryBarMs} ms.`);
        });
        break;
      case "committed":
        this.#takeovers += message.events.filter(({ type }) => type === "run.resumed").length;
        if (this.#takeovers > 1) this.#fail("The run was taken over twice by one process.");
        if (!this.#hasCommitted && this.#fate.kind === "killed" && this.#fate.since !== "start") {
          this.#killIn(this.#fate.ms);
        }
        this.#hasCommitted = true;
        break;
      case "taken-up":
        this.#mustRecover = false;
        this.#recoveryMs = performance.now() - this.#began;
        break;
      case "recovered-again":
        this.#recoveredAgain += 1;
        if (message.runs > 0) this.#fail("A second recovery took up a run that has a worker.");
        break;
      case "finished":
        this.#counts = { commits: message.commits, fileWrites: message.fileWrites };
        break;
      default:
        message satisfies never;
    }
    this.#killIfDue();
  }

  report({ code, signal, complaints }: Ending): LifeReport {
    for (const timer of this.#timers) clearTimeout(timer);
    const wasKilled = signal === "SIGKILL";
    const { calls, files } = this.#fate.conditions ?? {};
    const gaveUp = code === gaveUpCode && (calls !== undefined || files !== undefined);
    if (!wasKilled && !gaveUp && code !== 0)
      this.#problem ??= `It ended with ${code ?? signal}:\n${complaints}`;
    return {
      ended:
        this.#problem !== undefined
          ? "failed"
          : wasKilled
            ? "killed"
            : gaveUp
              ? "gave-up"
              : "finished",
      problem: this.#problem,
      recoveryMs: this.#recoveryMs,
      recoveredAgain: this.#recoveredAgain,
      ...this.#counts,
    };
  }

  #after(ms: number, action: () => void): void {
    this.#timers.push(setTimeout(action, ms));
  }

  #killIn(ms: number): void {
    this.#after(ms, () => {
      this.#isDue = true;
      this.#killIfDue();
    });
  }

  #killIfDue(): void {
    if (this.#isDue && this.#known.mayBeKilled) this.#worker?.kill();
  }

  #fail(problem: string): void {
    this.#problem ??= problem;
    this.#worker?.kill();
  }
}
