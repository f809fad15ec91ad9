import type { ChildProcess } from "node:child_process";
import { rmSync } from "node:fs";
import { type Clock, systemClock } from "../../ports/clock.ts";
import { describeMissing, findProgram, type Program } from "../processes/find-program.ts";
import { helperEnvironment, personalFolders } from "../processes/program-environment.ts";
import { startProgram } from "../processes/start-program.ts";
import { GitFailure } from "./git-failure.ts";

interface GitOptions extends GitContext {
  readonly cwd?: string;
  readonly input?: string | Uint8Array;
  /** Settings for this command alone, as `name=value`. */
  readonly settings?: readonly string[];
  readonly timeoutMs?: number;
  readonly maximumBytes?: number;
  /** Keeps what came before the limit, instead of failing. */
  readonly cutAtMaximum?: boolean;
  /** Exit codes that are answers; zero always is. */
  readonly answers?: readonly number[];
  readonly signal?: AbortSignal;
  readonly clock?: Clock;
}

interface GitOutput {
  readonly exitCode: number;
  readonly stdout: Buffer;
  readonly stderr: string;
  readonly cut: boolean;
}

const maximumErrorBytes = 16_384;

/**
 * The only place that runs git: an argument list and never a shell, our own environment, settings
 * that no repository can override, a time limit and an output limit. The folder is passed as `-C`,
 * since a version manager that starts git would read files of the current directory.
 */
export function runGit(args: readonly string[], options: GitOptions = {}): Promise<GitOutput> {
  const command = args[0] ?? "";
  if (options.signal?.aborted === true) return Promise.reject(new GitFailure("aborted", command));
  return new Promise((resolve, reject) => {
    const program = findGit(command);
    const folder = options.cwd ?? options.workTree ?? options.gitDirectory;
    const inFolder = folder === undefined ? [] : ["-C", folder];
    const own = (options.settings ?? []).flatMap((setting) => ["-c", setting]);
    // `git config` would report our own settings as configured.
    const before = command === "config" ? [] : [...gitOptions, ...own];
    const child = startProgram(
      {
        program,
        args: [...inFolder, ...before, ...args],
        environment: gitEnvironment(options),
        // A group of its own lets git's helper processes be killed with it.
        leadsGroup: process.platform !== "win32",
      },
      ["pipe", "pipe", "pipe"],
    );
    const out: Buffer[] = [];
    let outBytes = 0;
    let stderr = "";
    let ended: GitFailure | undefined;
    let cut = false;
    const end = (failure: GitFailure | undefined): void => {
      ended ??= failure;
      killGroup(child);
      // A helper that inherited these pipes must not delay the result.
      child.stdout.destroy();
      child.stderr.destroy();
    };
    const { clock = systemClock, timeoutMs = 120_000 } = options;
    const timer = clock.after(timeoutMs, () => end(new GitFailure("timeout", command)));
    const abort = (): void => end(new GitFailure("aborted", command));
    options.signal?.addEventListener("abort", abort, { once: true });

    const maximum = options.maximumBytes ?? 64 * 1024 * 1024;
    child.stdout.on("data", (chunk: Buffer) => {
      if (cut) return;
      const room = maximum - outBytes;
      out.push(chunk.length > room ? chunk.subarray(0, room) : chunk);
      outBytes += Math.min(chunk.length, room);
      if (chunk.length <= room) return;
      cut = true;
      end(options.cutAtMaximum === true ? undefined : new GitFailure("output-too-large", command));
    });
    child.stderr.on("data", (chunk: Buffer) => {
      if (stderr.length < maximumErrorBytes) stderr += chunk.toString("utf8");
    });
    // Git may exit before it has read all input; its exit code is the result.
    child.stdin.on("error", () => undefined);
    child.stdin.end(options.input ?? "");

    const settle = (): void => {
      timer.cancel();
      options.signal?.removeEventListener("abort", abort);
    };
    child.on("error", (cause) => {
      settle();
      reject(new GitFailure("missing", command, {}, { cause }));
    });
    child.on("close", (exitCode) => {
      settle();
      if (ended !== undefined) return reject(ended);
      const output = { exitCode: exitCode ?? 0, stdout: Buffer.concat(out), stderr, cut };
      const isAnswer = exitCode === 0 || cut || options.answers?.includes(exitCode ?? -1) === true;
      if (isAnswer) return resolve(output);
      reject(new GitFailure("exit", command, { exitCode, stderr }));
    });
  });
}

function killGroup(child: ChildProcess): void {
  try {
    if (child.pid !== undefined && process.platform !== "win32")
      process.kill(-child.pid, "SIGKILL");
    else child.kill("SIGKILL");
  } catch {
    // The process has exited already.
  }
}

/** Runs git and returns its output as one trimmed string. */
export async function askGit(args: readonly string[], options: GitOptions = {}): Promise<string> {
  return (await runGit(args, options)).stdout.toString("utf8").trimEnd();
}

/** The repository and the configuration that a command reads. */
export interface GitContext {
  /** Explicit: git does not search for a repository, and reads no `.git` of a work tree. */
  readonly gitDirectory?: string;
  readonly workTree?: string;
  readonly indexFile?: string;
  /** Date of new commits, in seconds since 1970; absent: now. */
  readonly date?: number;
  /**
   * Also reads the person's configuration: for `git config`, and for discovery, which needs their
   * `safe.directory`. Never for a command that touches files.
   */
  readonly withPersonalConfiguration?: boolean;
}

const nowhere = process.platform === "win32" ? "NUL" : "/dev/null";

/**
 * Settings that override every configuration file, so that a repository's own configuration can
 * neither start a program nor convert bytes nor use the network.
 */
const settings: readonly string[] = [
  // Settings that would start a program.
  `core.hooksPath=${nowhere}`,
  "core.fsmonitor=false",
  "core.pager=cat",
  "core.editor=false",
  "core.askPass=",
  "core.sshCommand=false",
  "core.gitProxy=false",
  "core.alternateRefsCommand=false",
  "credential.helper=",
  "commit.gpgSign=false",
  "tag.gpgSign=false",
  "gpg.program=false",
  "gpg.ssh.program=false",
  "gpg.x509.program=false",
  "gc.auto=0",
  "maintenance.auto=false",
  "submodule.recurse=false",
  "protocol.allow=never",
  "safe.bareRepository=explicit",
  // Settings that would change bytes or names.
  "core.autocrlf=false",
  "core.eol=lf",
  "core.safecrlf=false",
  "core.fileMode=true",
  "core.symlinks=true",
  "core.ignoreCase=false",
  "core.precomposeUnicode=false",
  "core.protectHFS=true",
  "core.protectNTFS=true",
  `core.attributesFile=${nowhere}`,
  `core.excludesFile=${nowhere}`,
  "core.sparseCheckout=false",
  "core.untrackedCache=false",
  "core.splitIndex=false",
  "core.quotePath=false",
  // Settings that would make two machines merge differently.
  "merge.renames=true",
  "merge.directoryRenames=false",
  "merge.renormalize=false",
  "merge.conflictStyle=merge",
  "diff.renames=false",
  "diff.algorithm=myers",
  // A single flush for many objects is durable and much faster.
  "core.fsyncMethod=batch",
  "core.compression=1",
  "checkout.workers=2",
  "checkout.thresholdForParallelism=500",
];

export const gitOptions: readonly string[] = [
  "--no-pager",
  "--no-replace-objects",
  ...settings.flatMap((setting) => ["-c", setting]),
];

/** The environment of git: none of our own variables reaches it. */
export function gitEnvironment(context: GitContext): Record<string, string> {
  const environment: Record<string, string> = {
    ...helperEnvironment(),
    LC_ALL: "C",
    GIT_TERMINAL_PROMPT: "0",
    GIT_OPTIONAL_LOCKS: "0",
    // Missing objects must not be fetched by a program that the repository names. Two variables,
    // since old versions of git know only one, and a repository can override protocol.allow.
    GIT_NO_LAZY_FETCH: "1",
    GIT_ALLOW_PROTOCOL: "",
    GIT_ATTR_NOSYSTEM: "1",
    GIT_AUTHOR_NAME: "Mandate",
    GIT_AUTHOR_EMAIL: "mandate@localhost",
    GIT_COMMITTER_NAME: "Mandate",
    GIT_COMMITTER_EMAIL: "mandate@localhost",
  };
  if (context.withPersonalConfiguration === true) {
    const { home, configuration } = personalFolders();
    if (home !== undefined) environment["HOME"] = home;
    if (configuration !== undefined) environment["XDG_CONFIG_HOME"] = configuration;
  } else {
    environment["HOME"] = "/nonexistent";
    environment["GIT_CONFIG_NOSYSTEM"] = "1";
    environment["GIT_CONFIG_GLOBAL"] = nowhere;
  }
  if (context.gitDirectory !== undefined) environment["GIT_DIR"] = context.gitDirectory;
  if (context.workTree !== undefined) environment["GIT_WORK_TREE"] = context.workTree;
  if (context.indexFile !== undefined) environment["GIT_INDEX_FILE"] = context.indexFile;
  if (context.date !== undefined) {
    environment["GIT_AUTHOR_DATE"] = `@${context.date} +0000`;
    environment["GIT_COMMITTER_DATE"] = `@${context.date} +0000`;
  }
  return environment;
}

/** Throws a `GitFailure` that says where git was found when it is not used. */
export function findGit(command: string): Program {
  const finding = findProgram("git");
  if (finding.isFound) return finding.program;
  const { refused } = finding;
  const said = refused === null ? {} : { stderr: describeMissing("git", refused) };
  throw new GitFailure("missing", command, said);
}

/** Versions by program file, since another PATH leads to another git. */
const known = new Map<string, Promise<string>>();

/** The version of the installed git. Throws when git is missing or too old. */
export async function requireGit(): Promise<string> {
  const { file } = findGit("version");
  const version = known.get(file) ?? readVersion();
  known.set(file, version);
  try {
    return await version;
  } catch (error) {
    // A missing git is not cached: it may be installed before the next call.
    known.delete(file);
    throw error;
  }
}

async function readVersion(): Promise<string> {
  const said = await askGit(["version"]);
  const version = /\d+\.\d+(?:\.\d+)*/.exec(said)?.[0] ?? "0";
  if (isRecentEnough(version)) return version;
  throw new GitFailure("too-old", "version", { stderr: version });
}

/** The first version with `merge-tree --write-tree` and `safe.bareRepository`. */
const oldestGit = "2.38";

export function isRecentEnough(version: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const [wanted = 0, atLeast = 0] = oldestGit.split(".").map(Number);
  return major > wanted || (major === wanted && minor >= atLeast);
}

/**
 * Runs `work` with a temporary index. The index and git's lock file are removed before and after,
 * since a killed process leaves both; the name must not be used by two processes at once.
 */
export async function withOwnIndex<Result>(
  indexFile: string,
  work: (indexFile: string) => Promise<Result>,
): Promise<Result> {
  const remove = (): void => {
    for (const file of [indexFile, `${indexFile}.lock`]) rmSync(file, { force: true });
  };
  remove();
  try {
    return await work(indexFile);
  } finally {
    remove();
  }
}
