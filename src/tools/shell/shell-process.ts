import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import type { Readable, Writable } from "node:stream";
import { type Clock, sleep } from "../../ports/clock.ts";
import { messageOf } from "../../ports/message-of.ts";
import {
  countTasks,
  descendantsOf,
  processesMarked,
  signalProcess,
} from "../../workspaces/delegation-mark.ts";
import type { Program } from "../../workspaces/processes/find-program.ts";
import { startProgram } from "../../workspaces/processes/start-program.ts";
import { waitAtMost } from "../wait-at-most.ts";
import { HeadAndTail } from "./head-and-tail.ts";

const keptBytes = 512 * 1024;
const watchMs = 50;
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
  readonly program: Program;
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** Without a sandbox, the folder of the command; with one, the sandbox goes there. */
  readonly folder?: string;
  /** In a sandbox descriptor 3 says which process all others descend from. */
  readonly isSandboxed: boolean;
  /** Beyond so many all are ended; null where the system itself sees to it. */
  readonly maximumProcesses: number | null;
  /** What the sandbox reads from descriptor 4. */
  readonly filter?: Uint8Array;
  readonly graceMs: number;
  readonly clock: Clock;
  /** Called when no process of the command runs any more, before `ended` resolves. */
  readonly afterwards?: () => Promise<Aftermath>;
}

/** One command with all processes that it starts. Its output is bounded, and all its descendants end with it. */
export class ShellProcess {
  /** Rejects when the command could not be started at all. */
  readonly ended: Promise<Outcome>;
  /** Until all is known about its end. */
  isRunning = true;
  readonly #child: ChildProcess;
  readonly #options: ProcessOptions;
  #scope: ProcessScope | undefined;
  #output = new HeadAndTail(keptBytes, keptBytes);
  #complaint = "";
  #endedBecause: string | undefined;
  /** Its process ids may belong to another process by now. */
  #isGone = false;
  #ending: Promise<void> | undefined;

  constructor(options: ProcessOptions) {
    this.#options = options;
    const mark = crypto.randomUUID();
    const { environment, isSandboxed } = options;
    const { program, args, folder, filter } = options;
    this.#child = startProgram(
      {
        ...{ program, args, ...(folder !== undefined && { folder }) },
        environment: isSandboxed ? environment : { ...environment, [markName]: mark },
        // What a terminal sends to our group is not meant for it.
        leadsGroup: true,
      },
      ["ignore", "pipe", "pipe", isSandboxed ? "pipe" : "ignore", filter ? "pipe" : "ignore"],
    );
    const { pid, stdout, stderr, stdio } = this.#child;
    if (!isSandboxed && pid !== undefined) this.#scope = markedScope(pid, `${markName}=${mark}`);
    stdout?.on("data", (chunk: Buffer) => {
      this.#output.push(chunk);
      free(chunk);
    });
    stderr?.on("data", (chunk: Buffer) => {
      this.#complaint = (this.#complaint + chunk.toString("utf8")).slice(0, 2000);
    });
    const forFilter = stdio[4] as Writable | null | undefined;
    // A sandbox that ended before it read its filter says why by itself.
    forFilter?.on("error", () => undefined).end(filter, () => forFilter.destroy());
    (stdio[3] as Readable | null)?.on("data", (chunk: Buffer) => this.#readStatus(chunk));
    this.ended = this.#run();
    this.ended.catch(() => undefined);
  }

  /** What came since the last time. */
  takeOutput(): HeadAndTail {
    const taken = this.#output;
    this.#output = new HeadAndTail(keptBytes, keptBytes);
    return taken;
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
    const stopWatching = this.#watchNumber();
    try {
      const exited = once(this.#child, "exit") as Promise<[number | null, NodeJS.Signals | null]>;
      const [code, signal] = await exited;
      // A sandbox ends all its processes. Without one, remaining processes keep the output open.
      if (!this.#options.isSandboxed) await this.#endLeftovers();
      await this.#drain();
      const because = this.#endedBecause;
      if (this.#scope === undefined && because === undefined) {
        throw new Error(`the sandbox could not be set up: ${this.#complaint.trim()}`);
      }
      return { code, signal, ...(because !== undefined && { endedBecause: because }) };
    } catch (error) {
      throw new Error(`The command could not be started: ${messageOf(error)}`, { cause: error });
    } finally {
      stopWatching();
      this.#isGone = true;
    }
  }

  async #drain(): Promise<void> {
    const { stdio } = this.#child;
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
    return this.#isGone ? [] : (this.#scope?.processes() ?? []);
  }

  #kill(): void {
    if (this.#isGone) return;
    this.#scope?.kill();
    const { pid } = this.#child;
    if (pid !== undefined) signalProcess(-pid, "SIGKILL");
  }

  async #endLeftovers(): Promise<void> {
    const { clock, graceMs } = this.#options;
    const left = () => this.#processes().filter((pid) => pid > 0);
    for (const pid of this.#processes()) signalProcess(pid, "SIGTERM");
    const end = clock.monotonic() + graceMs;
    while (left().length > 0 && clock.monotonic() < end) await sleep(clock, 25);
    this.#kill();
  }

  #readStatus(chunk: Buffer): void {
    const named = /"child-pid"\s*:\s*(\d+)/.exec(chunk.toString("latin1"));
    if (named === null) return;
    this.#scope = namespaceScope(Number(named[1]));
    // It was stopped before its process was known.
    if (this.#endedBecause !== undefined) this.#kill();
  }

  /** Counts the command's processes only when the whole machine has many more than before. */
  #watchNumber(): () => void {
    const { clock, maximumProcesses: maximum } = this.#options;
    if (maximum === null || process.platform !== "linux") return () => undefined;
    const before = countTasks();
    const timer = clock.every(watchMs, () => {
      if (countTasks() - before <= maximum || this.#processes().length <= maximum) return;
      this.#endedBecause ??= `It started more than ${maximum} processes and was ended.`;
      this.#kill();
    });
    timer.unref();
    return () => timer.cancel();
  }
}

/** Frees a chunk at once: garbage collection would let far more of them accumulate. */
function free({ buffer, byteLength }: Buffer): void {
  const isWhole = buffer instanceof ArrayBuffer && buffer.byteLength === byteLength;
  if (isWhole) buffer.transfer(0);
}

/** The live processes of a command. */
interface ProcessScope {
  processes(): readonly number[];
  kill(): void;
}

/** No process leaves a namespace, and none survives its first process. */
function namespaceScope(first: number): ProcessScope {
  return {
    processes: () => descendantsOf(first),
    kill: () => signalProcess(first, "SIGKILL"),
  };
}

/**
 * Without a namespace: the group of the command, and on Linux every process with its mark in the
 * environment. One that leaves the group and also cleans its environment is not found.
 */
function markedScope(leader: number, mark: string): ProcessScope {
  const processes = (): readonly number[] =>
    process.platform === "linux" ? processesMarked(mark) : [];
  return {
    processes: () => [...processes(), -leader],
    kill: () => {
      for (const pid of [...processes(), -leader]) signalProcess(pid, "SIGKILL");
    },
  };
}
