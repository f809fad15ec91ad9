import { spawn } from "node:child_process";

export interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface ProgramOptions {
  readonly cwd: string;
  readonly environment?: Readonly<Record<string, string | undefined>>;
  readonly timeoutMs?: number;
}

/** Runs a program to its end; one that cannot be started has ended with 127. */
export function runProgram(
  program: string,
  words: readonly string[],
  { cwd, environment = process.env, timeoutMs = 300_000 }: ProgramOptions,
): Promise<Ended> {
  return new Promise((resolve) => {
    const child = spawn(program, words, {
      cwd,
      env: environment,
      stdio: ["ignore", "pipe", "pipe"],
      timeout: timeoutMs,
      shell: process.platform === "win32",
    });
    let stdout = "";
    let stderr = "";
    child.stdout.setEncoding("utf8").on("data", (piece) => {
      stdout += piece;
    });
    child.stderr.setEncoding("utf8").on("data", (piece) => {
      stderr += piece;
    });
    child.once("error", (error) => resolve({ code: 127, stdout, stderr: error.message }));
    child.once("close", (code, signal) =>
      resolve({
        code: code ?? 128,
        stdout,
        stderr: signal ? `${stderr}\nended by ${signal}` : stderr,
      }),
    );
  });
}
