import { once } from "node:events";
import { type Clock, sleep, waitAtMost } from "../../ports/clock.ts";
import { messageOf } from "../../ports/message-of.ts";
import { processesMarked, signalProcess } from "../../workspaces/delegation-mark.ts";
import type { EgressEvidence, EgressLog } from "../../workspaces/egress/egress-log.ts";
import { systemShell } from "../../workspaces/processes/find-program.ts";
import { startProgram } from "../../workspaces/processes/start-program.ts";
import type { ContainedProgram } from "../../workspaces/sandbox/contained-program.ts";
import { type ResourceLimits, watchResources } from "../../workspaces/sandbox/resource-limits.ts";
import { HeadAndTail } from "./head-and-tail.ts";

const keptBytes = 512 * 1024;
const markName = "MANDATE_COMMAND";

export interface Aftermath {
  /** Why a command counts as failed although it ended: it left forbidden files behind. */
  readonly objection?: string;
  /** Limits in addition to its contract. */
  readonly remark?: string;
}

/** How a process ended. `endedBecause` is set when it was not by itself. */
export interface Outcome extends Aftermath {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly endedBecause?: string;
}

export interface ProcessOptions {
  readonly program: ContainedProgram;
  readonly isSandboxed: boolean;
  /** The hosts that its sandbox asked for. */
  readonly connections?: EgressLog | undefined;
  readonly graceMs: number;
  readonly clock: Clock;
  /** Called when no process of the command runs any more, before `ended` resolves. */
  readonly afterwards?: () => Promise<Aftermath>;
}

/** One command with all processes that it starts. Its output is bounded, and all its descendants end with it. */
export class ShellProcess {
  /** Rejects when the command could not be started at all. */
  readonly ended: Promise<Outcome>;
  /** True until all is known about the end of the process. */
  isRunning = true;
  readonly #program: ContainedProgram;
  readonly #options: ProcessOptions;
  #output = new HeadAndTail(keptBytes, keptBytes);
  #complaint = "";
  #endedBecause: string | undefined;
  /** The ids of the group may belong to another process by now. */
  #isGone = false;
  #ending: Promise<void> | undefined;

  constructor(options: ProcessOptions) {
    this.#options = options;
    this.#program = options.program;
    const { stdout, stderr } = this.#program.child;
    stdout?.on("data", (chunk: Buffer) => {
      this.#output.push(chunk);
      free(chunk);
    });
    stderr?.on("data", (chunk: Buffer) => {
      this.#complaint = (this.#complaint + chunk.toString("utf8")).slice(0, 2000);
    });
    this.ended = this.#run();
    this.ended.catch(() => undefined);
  }

  /** What came since the last time. */
  takeOutput(): HeadAndTail {
    const taken = this.#output;
    this.#output = new HeadAndTail(keptBytes, keptBytes);
    return taken;
  }

  takeConnections(): readonly EgressEvidence[] | undefined {
    return this.#options.connections?.take();
  }

  /** Resolves when nothing of it is left. The first reason is reported. */
  end(because: string): Promise<void> {
    if (!this.#isGone) this.#endedBecause ??= because;
    this.#ending ??= this.#endAll();
    return this.#ending;
  }

  async #run(): Promise<Outcome> {
    let aftermath: Aftermath | undefined;
    try {
      const outcome = await this.#attend().finally(async () => {
        aftermath = await this.#options.afterwards?.();
      });
      return { ...outcome, ...aftermath };
    } finally {
      this.isRunning = false;
    }
  }

  async #attend(): Promise<Outcome> {
    const { child, exceeded, isSetUp } = this.#program;
    try {
      const exited = once(child, "exit") as Promise<[number | null, NodeJS.Signals | null]>;
      const [code, signal] = await exited;
      // A sandbox ends all its processes. Without one, remaining processes keep the output open.
      if (!this.#options.isSandboxed) await this.#endLeftovers();
      await this.#drain();
      const because = this.#endedBecause ?? exceeded();
      if (!isSetUp() && because === undefined) {
        throw new Error(`the sandbox could not be set up: ${this.#complaint.trim()}`);
      }
      return { code, signal, ...(because !== undefined && { endedBecause: because }) };
    } catch (error) {
      throw new Error(`The command could not be started: ${messageOf(error)}`, { cause: error });
    } finally {
      this.#isGone = true;
    }
  }

  async #drain(): Promise<void> {
    const { stdio } = this.#program.child;
    const open = stdio.slice(0, 4).filter((stream) => stream?.closed === false);
    const closed = Promise.all(open.map((stream) => stream && once(stream, "close")));
    await waitAtMost(this.#options.clock, 1000, closed);
    for (const stream of stdio) stream?.destroy();
  }

  async #endAll(): Promise<void> {
    const gone = this.ended.catch(() => undefined);
    for (const pid of this.#processes()) signalProcess(pid, "SIGTERM");
    await waitAtMost(this.#options.clock, this.#options.graceMs, gone);
    this.#kill();
    await gone;
  }

  #processes(): readonly number[] {
    return this.#isGone ? [] : this.#program.processes();
  }

  #kill(): void {
    if (!this.#isGone) this.#program.kill();
  }

  async #endLeftovers(): Promise<void> {
    const { clock, graceMs } = this.#options;
    const left = () => this.#processes().filter((pid) => pid > 0);
    for (const pid of this.#processes()) signalProcess(pid, "SIGTERM");
    const end = clock.monotonic() + graceMs;
    while (left().length > 0 && clock.monotonic() < end) await sleep(clock, 25);
    this.#kill();
  }
}

/** Frees a chunk at once: garbage collection would let far more of them accumulate. */
function free({ buffer, byteLength }: Buffer): void {
  const isWhole = buffer instanceof ArrayBuffer && buffer.byteLength === byteLength;
  if (isWhole) buffer.transfer(0);
}

interface UncontainedStart {
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly limits: ResourceLimits;
  readonly clock: Clock;
}

/**
 * Starts a command without a sandbox. Its processes are those of its group, and on Linux every process
 * with its mark in the environment. One that leaves the group and also cleans its environment is not
 * found.
 */
export function startUncontained(start: UncontainedStart): ContainedProgram {
  const { argv, clock, cwd, environment, limits } = start;
  const mark = crypto.randomUUID();
  const script = 'exec 2>&1; ulimit -c 0; exec "$@"';
  const child = startProgram(
    {
      program: systemShell(),
      args: ["-c", script, "sh", ...argv],
      folder: cwd,
      environment: { ...environment, [markName]: mark },
      leadsGroup: true,
    },
    ["ignore", "pipe", "pipe"],
  );
  let because: string | undefined;
  const stopWatching = watchResources(
    {
      processes,
      onExceeded(reason) {
        because ??= reason;
        kill();
      },
    },
    limits,
    clock,
  );
  child.once("exit", stopWatching).once("error", stopWatching);
  return { child, isSetUp: () => true, processes, exceeded: () => because, kill };

  function processes(): readonly number[] {
    if (child.pid === undefined) return [];
    const marked = process.platform === "linux" ? processesMarked(`${markName}=${mark}`) : [];
    return [...marked, -child.pid];
  }

  function kill(): void {
    for (const pid of processes()) signalProcess(pid, "SIGKILL");
  }
}
