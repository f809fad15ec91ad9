import { type Clock, systemClock } from "../../ports/clock.ts";
import { createPrivateFolder, type PrivateFolder } from "../../processes/private-folder.ts";
import { type StartedProgram, startProgram } from "../../processes/start-program.ts";
import { waitAtMost } from "../wait-at-most.ts";
import type { ExpandedStdio } from "./expand-server.ts";
import { LineSplitter } from "./line-splitter.ts";
import { endGroup, watchGroup } from "./process-group.ts";
import { serverProgram } from "./server-program.ts";

/** One message, and what may wait to be read by a server that does not read. */
export const longestMessage = 16 * 1024 * 1024;
const longestStderr = 8 * 1024;
const drainMs = 100;
const politeMs = 500;
const terminateMs = 1500;

export interface ProcessListener {
  onLine(line: Buffer): void;
  /** Once: it has ended, by itself or by us. */
  onEnd(): void;
}

/**
 * The process of a server, in a group of its own. It does not keep our process alive: whoever waits
 * for an answer waits on a timer as well, and what is left at the end is killed.
 */
export class ServerProcess {
  /** How it ended, in words that follow its name; null while it runs and when we stopped it. */
  ended: string | null = null;
  readonly pid: number;
  readonly #child: ServerChild;
  /** Undefined where the declaration names a folder. */
  readonly #folder: PrivateFolder | undefined;
  readonly #listener: ProcessListener;
  readonly #clock: Clock;
  readonly #lines = new LineSplitter(longestMessage);
  readonly #gone: Promise<void>;
  #stderr = "";
  #isOver = false;
  #stopped: Promise<void> | null = null;
  #cleared: Promise<void> | null = null;

  /** Rejects with the system's own error when the command cannot be started. */
  static async start(
    server: ExpandedStdio,
    privateFolders: string,
    listener: ProcessListener,
    clock: Clock = systemClock,
  ): Promise<ServerProcess> {
    const program = serverProgram(server);
    const own = server.cwd === null ? createPrivateFolder(privateFolders) : undefined;
    const child = startProgram(
      {
        program,
        args: server.args,
        environment: server.env,
        folder: own?.path ?? server.cwd ?? "/",
        leadsGroup: process.platform !== "win32",
      },
      ["pipe", "pipe", "pipe"],
    );
    try {
      await new Promise<void>((resolve, reject) => {
        child.once("spawn", resolve);
        child.once("error", reject);
      });
    } catch (error) {
      own?.remove();
      throw error;
    }
    return new ServerProcess(child, own, listener, clock);
  }

  private constructor(
    child: ServerChild,
    folder: PrivateFolder | undefined,
    listener: ProcessListener,
    clock: Clock,
  ) {
    this.#child = child;
    this.#folder = folder;
    this.#listener = listener;
    this.#clock = clock;
    this.pid = child.pid ?? 0;
    watchGroup(this.pid);
    this.#gone = new Promise((resolve) => {
      child.once("exit", (code, signal) => {
        const how = signal === null ? `with exit code ${code}` : `by ${signal}`;
        // What it wrote last is still in the pipe. A descendant can hold that open for ever.
        const closed = new Promise((close) => child.once("close", close));
        void waitAtMost(clock, drainMs, closed).then(() => {
          this.#end(`ended ${how}`);
          resolve();
        });
      });
    });
    child.stdout.on("data", (chunk: Buffer) => this.#read(chunk));
    child.stderr.on("data", (chunk: Buffer) => {
      this.#stderr = (this.#stderr + chunk.toString("utf8")).slice(-longestStderr);
    });
    // A pipe that breaks says no more than the exit that follows.
    for (const stream of [child, child.stdin, child.stdout, child.stderr]) {
      stream.on("error", ignore);
      if ("unref" in stream && typeof stream.unref === "function") stream.unref();
    }
  }

  write(text: string): Promise<void> {
    const { stdin } = this.#child;
    if (this.#isOver) return Promise.reject(new Error("it is not running"));
    if (stdin.writableLength + text.length > longestMessage) {
      void this.stop("stopped reading what it was sent");
      return Promise.reject(new Error("it does not read what it is sent"));
    }
    return new Promise((resolve, reject) => {
      stdin.write(text, (error) => {
        if (!error) resolve();
        // A broken pipe is the first sign of an end whose reason comes a moment later.
        else void this.#goneWithin(politeMs).then(() => reject(error));
      });
    });
  }

  /** Its last words, as it said them. */
  get stderr(): string {
    return this.#stderr;
  }

  /** Closing its input is how a server is asked to end; then the group is told, then killed. */
  stop(why: string | null = null): Promise<void> {
    this.#stopped ??= this.#stop(why);
    return this.#stopped;
  }

  async #stop(why: string | null): Promise<void> {
    if (!this.#isOver) {
      this.#end(why);
      this.#child.stdin.end();
      await this.#goneWithin(politeMs);
    }
    await this.#clear();
  }

  #goneWithin(ms: number): Promise<void> {
    return waitAtMost(this.#clock, ms, this.#gone);
  }

  #read(chunk: Buffer): void {
    if (this.#isOver) return;
    const lines = this.#lines.push(chunk);
    if (lines === null) {
      const limit = longestMessage / 1024 / 1024;
      void this.stop(`sent a message of more than ${limit} MB and was stopped`);
      return;
    }
    for (const line of lines) this.#listener.onLine(line);
  }

  #end(how: string | null): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.ended = how;
    this.#listener.onEnd();
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) void this.#clear();
  }

  /** Also after it ended by itself: what it had started may still run. */
  #clear(): Promise<void> {
    this.#cleared ??= endGroup(this.pid, terminateMs, this.#clock).then(() => {
      for (const stream of [this.#child.stdin, this.#child.stdout, this.#child.stderr]) {
        stream.destroy();
      }
      this.#folder?.remove();
    });
    return this.#cleared;
  }
}

type ServerChild = StartedProgram<["pipe", "pipe", "pipe"]>;

function ignore(): void {}
