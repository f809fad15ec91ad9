/** The one file that starts processes. `npm run check` fails where another one tries. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { parse } from "node:path";
import type { Readable, Writable } from "node:stream";
import { type Program, requireOutside } from "./find-program.ts";
import { stdioWithoutInherited } from "./inherited-descriptors.ts";

type Stdio = ("pipe" | "ignore")[];

export interface ProgramStart {
  readonly program: Program;
  readonly args: readonly string[];
  /** All of it: nothing of our own environment is added. */
  readonly environment: Readonly<Record<string, string>>;
  /**
   * Where it starts; absent: at the root of the file system. What a program finds in its current
   * directory decides what it does, so this is never a folder that an agent can write, unless a
   * person named it.
   */
  readonly folder?: string;
  /** In a process group of its own. */
  readonly leadsGroup?: boolean;
}

/** A process with the streams that were asked for. */
export type StartedProgram<Own extends Stdio> = ChildProcess & {
  readonly stdin: Stream<Own[0], Writable>;
  readonly stdout: Stream<Own[1], Readable>;
  readonly stderr: Stream<Own[2], Readable>;
};

type Stream<Kind, Type> = Kind extends "pipe" ? Type : null;

/** Starts a program that was looked up, without a shell, with the given descriptors alone. */
export function startProgram<const Own extends Stdio>(
  start: ProgramStart,
  stdio: Own,
): StartedProgram<Own> {
  requireOutside(start.program);
  const child = spawn(start.program.file, start.args, {
    argv0: start.program.calledAs,
    cwd: start.folder ?? startFolder,
    env: start.environment,
    stdio: stdioWithoutInherited(stdio),
    detached: start.leadsGroup === true,
    windowsHide: true,
    shell: false,
  });
  // The streams are those of the descriptors above.
  return child as StartedProgram<Own>;
}

export interface FinishedProgram {
  /** Null where it could not be started or was ended. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly error?: Error;
}

/** Waits for a program that answers at once. */
export function runToEnd(
  start: ProgramStart,
  { input, timeoutMs }: { readonly input?: Uint8Array; readonly timeoutMs: number },
): FinishedProgram {
  requireOutside(start.program);
  const { status, stdout, stderr, error } = spawnSync(start.program.file, start.args, {
    argv0: start.program.calledAs,
    cwd: start.folder ?? startFolder,
    env: start.environment,
    stdio: stdioWithoutInherited(["pipe", "pipe", "pipe"]),
    encoding: "utf8",
    timeout: timeoutMs,
    maxBuffer: 64 * 1024,
    windowsHide: true,
    shell: false,
    ...(input !== undefined && { input }),
  });
  const failed = error === undefined ? {} : { error };
  return { code: status, stdout: stdout ?? "", stderr: stderr ?? "", ...failed };
}

/** On Windows the drive that Node is on. */
const startFolder = process.platform === "win32" ? parse(process.execPath).root : "/";
