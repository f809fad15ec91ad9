/** The one file that starts processes. `npm run check` fails where another one tries. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { openSync, readdirSync, readFileSync } from "node:fs";
import { parse } from "node:path";
import type { Readable, Writable } from "node:stream";
import { type Program, requireOutside } from "./find-program.ts";

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

const closesOnExec = 0o2000000;

/** Of so many each is looked at before every start: some 20 µs each. */
const mostLookedAt = 512;

let found: readonly number[] | undefined;

let nothing: number | undefined;

/**
 * How a process is to be started so that no descriptor reaches it but the given ones. Ours close by
 * themselves; those that we inherited, or that native code opened, do not, and one folder among them
 * is the way to every file. They cannot be closed from here: a holder that needs them is not asked. So the
 * started process finds the null device in their place.
 */
function stdioWithoutInherited<Own extends ("pipe" | "ignore")[]>(own: [...Own]): [...Own] {
  const inherited = findInherited();
  if (inherited.length === 0) return own;
  const stdio: ("pipe" | "ignore" | number)[] = [...own];
  for (const descriptor of inherited) {
    while (stdio.length <= descriptor) stdio.push("ignore");
    // Beyond the first three "ignore" leaves what is there.
    if (stdio[descriptor] !== "ignore") continue;
    nothing ??= openSync("/dev/null", "r");
    stdio[descriptor] = nothing;
  }
  // The first ones are what they were, and the others are no streams.
  return stdio as unknown as [...Own];
}

/** Elsewhere than on Linux, started processes get only what they are given. */
function findInherited(): readonly number[] {
  if (process.platform !== "linux") return [];
  try {
    const open = readdirSync("/proc/self/fd").map(Number);
    // A server with thousands of connections asks once: those are its own, and close.
    if (found === undefined || open.length <= mostLookedAt) found = open.filter(staysOpen);
    return found;
  } catch {
    return found ?? [];
  }
}

function staysOpen(descriptor: number): boolean {
  if (descriptor < 3) return false;
  try {
    const about = readFileSync(`/proc/self/fdinfo/${descriptor}`, "latin1");
    return (Number.parseInt(/flags:\s*(\d+)/.exec(about)?.[1] ?? "0", 8) & closesOnExec) === 0;
  } catch {
    // That with which the others were listed: it is closed by now.
    return false;
  }
}
