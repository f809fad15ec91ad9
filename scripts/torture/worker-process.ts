import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { type Conditions, conditionsVariable, type Job } from "./job.ts";
import type { Message } from "./messages.ts";
import { traced } from "./system-calls.ts";

const program = fileURLToPath(new URL("./worker.ts", import.meta.url));

export interface Ending {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** What it complained about, for the report when it should not have ended. */
  readonly complaints: string;
}

export interface WorkerOptions {
  readonly job: Job;
  readonly conditions: Conditions;
  readonly compileCache: string;
  /** A file for the list of system calls that write. */
  readonly trace?: string;
}

/** One life of a worker, from outside. */
export class WorkerProcess {
  /** It is gone, and everything it said has been heard. */
  readonly ended: Promise<Ending>;
  readonly #process: ChildProcess;

  constructor(options: WorkerOptions, hear: (message: Message) => void) {
    const { job, conditions, compileCache, trace } = options;
    const [command, words] = traced(
      [process.execPath, "--no-warnings", program, JSON.stringify(job)],
      conditions.calls,
      trace,
    );
    const child = spawn(command, words, {
      stdio: ["ignore", "ignore", "pipe", "pipe"],
      env: {
        ...process.env,
        // Half of a worker's start is compiling; those that end by themselves leave it for the rest.
        NODE_COMPILE_CACHE: compileCache,
        [conditionsVariable]: JSON.stringify(conditions),
      },
    });
    this.#process = child;
    let complaints = "";
    child.stderr?.on("data", (chunk) => {
      complaints = `${complaints}${chunk}`.slice(-4000);
    });
    const lines = createInterface({ input: child.stdio[3] as Readable });
    lines.on("line", (line) => hear(JSON.parse(line) as Message));
    this.ended = new Promise((resolve) => {
      child.on("close", (code, signal) => resolve({ code, signal, complaints }));
    });
  }

  get pid(): number {
    return this.#process.pid ?? 0;
  }

  kill(signal: NodeJS.Signals = "SIGKILL"): void {
    this.#process.kill(signal);
  }
}
