import type { ChildProcess } from "node:child_process";
import { join } from "node:path";
import { type Clock, systemClock } from "../../../ports/clock.ts";
import { findProgram, type Program } from "../../../workspaces/processes/find-program.ts";
import { helperEnvironment } from "../../../workspaces/processes/program-environment.ts";
import { runToEnd, startProgram } from "../../../workspaces/processes/start-program.ts";

/** Older ones do not know all the options that are used. */
const oldestVersion = 12;

const known = new Map<string, boolean>();

/** Finds ripgrep on this machine; null: searches run without it. */
export async function findRipgrep(): Promise<Program | null> {
  const finding = findProgram("rg");
  if (!finding.isFound) return null;
  const { program } = finding;
  const isUsable = known.get(program.file) ?? isRipgrep(program);
  known.set(program.file, isUsable);
  return isUsable ? program : null;
}

/** Other programs are named rg as well. */
function isRipgrep(program: Program): boolean {
  const args = ["--no-config", "--version"];
  const environment = helperEnvironment();
  const { code, stdout } = runToEnd({ program, args, environment }, { timeoutMs: 5000 });
  const version = /^ripgrep (\d+)\./.exec(stdout)?.[1];
  return code === 0 && Number(version ?? 0) >= oldestVersion;
}

/** How long one batch may take before it is searched without help. */
const longestRunMs = 60_000;

export interface RipgrepSearch {
  readonly program: Program;
  /** The pattern in ripgrep's syntax. */
  readonly pattern: string;
  /** The folder that the paths count from. */
  readonly root: string;
}

/**
 * Ripgrep only reads the files that it gets: no configuration, no recursion, no ignore files, no
 * preprocessor, no detection of encodings or binary files.
 */
const options = [
  ...["--no-config", "--no-ignore", "--hidden", "--text", "--encoding=none", "--no-mmap"],
  ...["--case-sensitive", "--color=never", "--no-messages", "--files-with-matches", "--null"],
  "--max-depth=1",
];

/**
 * Which files may match, of those named and of those in the folders named, relative to the root.
 * Null when that is not certain: ripgrep met an error (a file it could not open, a pattern too large
 * for it), was ended, or never began.
 */
export async function filesWithMatches(
  search: RipgrepSearch,
  operands: readonly string[],
  signal: AbortSignal,
  clock: Clock = systemClock,
): Promise<ReadonlySet<string> | null> {
  const { code, output } = await run(search, operands, signal, clock);
  if (code !== 0 && code !== 1) return null;
  const found = output.toString().split("\0");
  const { length } = join(search.root, "/");
  return new Set(found.map((path) => path.slice(length)));
}

interface Ended {
  /** The exit code; null: the program was ended, or never began. */
  readonly code: number | null;
  readonly output: Buffer;
}

async function run(
  { program, pattern, root }: RipgrepSearch,
  operands: readonly string[],
  signal: AbortSignal,
  clock: Clock,
): Promise<Ended> {
  signal.throwIfAborted();
  const places = operands.map((operand) => join(root, "/") + operand);
  const child = start(program, [...options, "-e", pattern, "--", ...places]);
  if (child === null) return { code: null, output: Buffer.alloc(0) };
  const output: Buffer[] = [];
  const end = () => child.kill("SIGKILL");
  const timer = clock.after(longestRunMs, end);
  signal.addEventListener("abort", end);
  try {
    const code = await new Promise<number | null>((resolve) => {
      child.stdout?.on("data", (chunk: Buffer) => output.push(chunk));
      child.on("error", () => resolve(null));
      child.on("close", resolve);
    });
    signal.throwIfAborted();
    return { code, output: Buffer.concat(output) };
  } finally {
    timer.cancel();
    signal.removeEventListener("abort", end);
  }
}

/** Null where the system refuses such a long command line. */
function start(program: Program, args: readonly string[]): ChildProcess | null {
  try {
    const environment = helperEnvironment();
    return startProgram({ program, args, environment }, ["ignore", "pipe", "ignore"]);
  } catch {
    return null;
  }
}
