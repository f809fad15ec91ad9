import type { ChildProcess } from "node:child_process";
import { type Clock, systemClock } from "../../ports/clock.ts";
import { startProgram } from "../../processes/start-program.ts";
import { findGit } from "./find-git.ts";
import { type GitContext, gitEnvironment, gitOptions } from "./git-environment.ts";
import { GitFailure } from "./git-failure.ts";

export interface GitOptions extends GitContext {
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

export interface GitOutput {
  readonly exitCode: number;
  readonly stdout: Buffer;
  readonly stderr: string;
  readonly cut: boolean;
}

const maximumErrorBytes = 16_384;

/**
 * The one place that runs git: an argument list and never a shell, an environment of our own,
 * settings that no repository can override, a time limit and a limit on output. Git goes into the
 * folder by itself: it may be started through a version manager, which reads the current directory.
 */
export function runGit(args: readonly string[], options: GitOptions = {}): Promise<GitOutput> {
  const command = args[0] ?? "";
  if (options.signal?.aborted === true) return Promise.reject(new GitFailure("aborted", command));
  return new Promise((resolve, reject) => {
    const program = findGit(command);
    const folder = options.cwd ?? options.workTree ?? options.gitDirectory;
    const inFolder = folder === undefined ? [] : ["-C", folder];
    const own = (options.settings ?? []).flatMap((setting) => ["-c", setting]);
    // Asked what is configured, git would answer with our own settings.
    const before = command === "config" ? [] : [...gitOptions, ...own];
    const child = startProgram(
      {
        program,
        args: [...inFolder, ...before, ...args],
        environment: gitEnvironment(options),
        // So that helpers of git can be ended with it.
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
      // Whoever else holds the other end must not keep us waiting.
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
    // Git may end before it has read everything; its exit code tells the story.
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
    // It has ended by itself.
  }
}

/** For answers of one line. */
export async function askGit(args: readonly string[], options: GitOptions = {}): Promise<string> {
  return (await runGit(args, options)).stdout.toString("utf8").trimEnd();
}
