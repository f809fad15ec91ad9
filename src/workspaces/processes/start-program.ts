/** The only file that starts processes. `npm run check` fails if another file does. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { openSync, readdirSync, readFileSync } from "node:fs";
import { parse } from "node:path";
import type { Readable, Writable } from "node:stream";
import { type Program, requireOutside } from "./find-program.ts";

/** `inherit`: the terminal, or whatever this process has: only for a program that a person started. */
type Stdio = ("pipe" | "ignore" | "inherit")[];

export interface ProgramStart {
  readonly program: Program;
  readonly args: readonly string[];
  /** The complete environment: nothing of this process is added. */
  readonly environment: Readonly<Record<string, string>>;
  /**
   * The current directory; absent: the root of the file system. What a program finds there decides
   * what it does, so it is never a folder that an agent can write, unless a person named it.
   */
  readonly folder?: string;
  /** The program gets a process group of its own. */
  readonly leadsGroup?: boolean;
}

/** A process with the requested streams. */
export type StartedProgram<Own extends Stdio> = ChildProcess & {
  readonly stdin: Stream<Own[0], Writable>;
  readonly stdout: Stream<Own[1], Readable>;
  readonly stderr: Stream<Own[2], Readable>;
};

type Stream<Kind, Type> = Kind extends "pipe" ? Type : null;

/** Starts a program without a shell, with the given descriptors alone. */
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
  /** Null if it could not be started or was killed. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly error?: Error;
}

/** Runs a program that finishes quickly, and waits for it. */
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

/** Up to so many descriptors are examined before every start: some 20 µs each. */
const mostLookedAt = 512;

let found: readonly number[] | undefined;

let nothing: number | undefined;

/**
 * Makes sure that a started process gets no descriptors except the given ones. Descriptors that
 * Node opened close by themselves; inherited ones, and those of native code, do not, and one folder
 * among them would give access to every file. They cannot be closed here, since their owner may
 * need them, so the started process gets the null device in their place.
 */
function stdioWithoutInherited<Own extends Stdio>(own: [...Own]): [...Own] {
  const inherited = findInherited();
  if (inherited.length === 0) return own;
  const stdio: (Stdio[number] | number)[] = [...own];
  for (const descriptor of inherited) {
    while (stdio.length <= descriptor) stdio.push("ignore");
    // Beyond the first three, "ignore" would leave the inherited descriptor open.
    if (stdio[descriptor] !== "ignore") continue;
    nothing ??= openSync("/dev/null", "r");
    stdio[descriptor] = nothing;
  }
  // The first three are unchanged, and the others are no streams.
  return stdio as unknown as [...Own];
}

/** On other systems started processes inherit nothing else. */
function findInherited(): readonly number[] {
  if (process.platform !== "linux") return [];
  try {
    const open = readdirSync("/proc/self/fd").map(Number);
    // With thousands of connections the list is read once: those are Node's own, and close.
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
    // The descriptor that listed the others; it is closed now.
    return false;
  }
}
