import { isAbsolute, resolve } from "node:path";
import { type Clock, systemClock, waitAtMost } from "../../ports/clock.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import type { EgressLog } from "../../workspaces/egress/egress-log.ts";
import {
  describeMissing,
  findProgram,
  namedProgram,
  type Program,
  programProblem,
} from "../../workspaces/processes/find-program.ts";
import {
  createPrivateFolder,
  type PrivateFolder,
} from "../../workspaces/processes/private-folder.ts";
import { type StartedProgram, startProgram } from "../../workspaces/processes/start-program.ts";
import { containServer, type ServerPlace } from "./contain-server.ts";
import type { ExpandedStdio } from "./expand-server.ts";
import { endGroup, watchGroup } from "./process-group.ts";

/** Cuts a stream of bytes into lines. A line may come in thousands of pieces; they are joined once. */
export class LineSplitter {
  readonly #maxBytes: number;
  #pieces: Buffer[] = [];
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Null when a line has grown too long: nothing that follows could be trusted to be a line. */
  push(chunk: Buffer): Buffer[] | null {
    const lines: Buffer[] = [];
    let start = 0;
    for (;;) {
      const end = chunk.indexOf(10, start);
      const piece = end < 0 ? chunk.subarray(start) : chunk.subarray(start, end);
      if (this.#bytes + piece.length > this.#maxBytes) {
        this.#pieces = [];
        return null;
      }
      this.#pieces.push(piece);
      this.#bytes += piece.length;
      if (end < 0) return lines;
      lines.push(this.#pieces.length === 1 ? piece : Buffer.concat(this.#pieces));
      this.#pieces = [];
      this.#bytes = 0;
      start = end + 1;
    }
  }
}

/** One message, and what may wait to be read by a server that does not read. */
export const longestMessage = 16 * 1024 * 1024;
const longestStderr = 8 * 1024;
const drainMs = 100;
const politeMs = 500;
const terminateMs = 1500;

export interface ProcessListener {
  onLine(line: Buffer): void;
  /** Called once when the process has ended, by itself or by us. */
  onEnd(): void;
}

/**
 * The process of a server, in a process group of its own. It does not keep our process alive: a
 * caller that waits for an answer also has a timer, and the group is killed when we exit.
 */
export class ServerProcess {
  /** How it ended, in words that follow its name; null while it runs and when we stopped it. */
  ended: string | null = null;
  readonly pid: number;
  readonly #child: ServerChild;
  /** Undefined where the declaration names a folder. */
  readonly #folder: ServerStart["folder"];
  /** The connections of a server in a sandbox. */
  readonly connections: EgressLog | undefined;
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
    { folder, containment }: ServerPlace,
    listener: ProcessListener,
    clock: Clock = systemClock,
  ): Promise<ServerProcess> {
    const program = serverProgram(server);
    const hasFolder = server.cwd === null || server.sandbox !== undefined;
    const own = hasFolder ? createPrivateFolder(folder) : undefined;
    let started: ServerStart;
    try {
      started =
        server.sandbox !== undefined && own !== undefined
          ? containServer({ server, program, folder: own, containment, clock })
          : { child: startWithRights(server, program, own), folder: own };
    } catch (error) {
      own?.remove();
      throw error;
    }
    const { child } = started;
    try {
      await new Promise<void>((resolve, reject) => {
        child.once("spawn", resolve);
        child.once("error", reject);
      });
    } catch (error) {
      started.folder?.remove();
      throw error;
    }
    return new ServerProcess(started, listener, clock);
  }

  private constructor(
    { child, connections, folder }: ServerStart,
    listener: ProcessListener,
    clock: Clock,
  ) {
    this.#child = child;
    this.connections = connections;
    this.#folder = folder;
    this.#listener = listener;
    this.#clock = clock;
    this.pid = child.pid ?? 0;
    watchGroup(this.pid);
    this.#gone = new Promise((resolve) => {
      child.once("exit", (code, signal) => {
        const how = signal === null ? `with exit code ${code}` : `by ${signal}`;
        // The last output is still in the pipe, which a descendant can keep open without end.
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

  /** The last lines that the server wrote to standard error. */
  get stderr(): string {
    return this.#stderr;
  }

  /** Closing its input is how a server is asked to end; then the group is terminated, then killed. */
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

  /** Kills the group, even if the process ended by itself: what it had started may still run. */
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

/** A started server, and what is removed when it has ended. */
export interface ServerStart {
  readonly child: ServerChild;
  readonly folder: Pick<PrivateFolder, "remove"> | undefined;
  readonly connections?: EgressLog;
}

function startWithRights(
  server: ExpandedStdio,
  program: Program,
  own: PrivateFolder | undefined,
): ServerChild {
  return startProgram(
    {
      program,
      args: server.args,
      environment: server.env,
      folder: own?.path ?? server.cwd ?? "/",
      leadsGroup: process.platform !== "win32",
    },
    ["pipe", "pipe", "pipe"],
  );
}

function ignore(): void {}

/**
 * The program of a server, looked up like our own helpers. Only the person's own configuration can
 * name a program inside a workspace, by its absolute path or relative to the folder it names.
 */
function serverProgram({ command, cwd, isOwn, searchPath }: ExpandedStdio): Program {
  if (isAbsolute(command)) return isOwn ? namedProgram(command) : outsideProgram(command);
  if (/[\\/]/.test(command)) {
    if (isOwn && cwd !== null) return namedProgram(resolve(cwd, command));
    throw problem(
      "its command is a relative path. Write its absolute path, or the name of a program on the PATH",
    );
  }
  const finding = findProgram(command, searchPath);
  if (finding.isFound) return finding.program;
  if (finding.refused === null) throw missing();
  throw problem(
    `${describeMissing("its command", finding.refused)} Or name it by its absolute path in your ` +
      "own configuration",
  );
}

function outsideProgram(file: string): Program {
  let reason: string | undefined;
  try {
    reason = programProblem(file);
  } catch {
    throw missing();
  }
  if (reason === undefined) return namedProgram(file);
  throw problem(
    `its command ${reason}. Only your own configuration can name a program there, under mcp.servers`,
  );
}

function missing(): MandateError {
  return problem("its command or its folder does not exist");
}

function problem(says: string): MandateError {
  return new MandateError("config-invalid", says);
}
