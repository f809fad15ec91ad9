import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { type Death, deathVariable, type Job } from "./job.ts";
import type { Message } from "./messages.ts";

const program = fileURLToPath(new URL("./worker.ts", import.meta.url));

export interface Ending {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** What it complained about, for the report when it should not have ended. */
  readonly complaints: string;
}

/** One life of a worker, from outside. */
export class WorkerProcess {
  /** It is gone, and everything it said has been heard. */
  readonly ended: Promise<Ending>;
  readonly #process: ChildProcess;

  constructor(
    job: Job,
    death: Death | undefined,
    compileCache: string,
    hear: (message: Message) => void,
  ) {
    const child = spawn(process.execPath, ["--no-warnings", program, JSON.stringify(job)], {
      stdio: ["ignore", "ignore", "pipe", "pipe"],
      env: {
        ...process.env,
        // Half of a worker's start is compiling; those that end by themselves leave it for the rest.
        NODE_COMPILE_CACHE: compileCache,
        [deathVariable]: death === undefined ? "" : `${death.side}:${death.commit}`,
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

  kill(): void {
    this.#process.kill("SIGKILL");
  }
}
