import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { childEnvironment } from "../../testing/child-environment.test-support.ts";

/** A process of somebody who has no terminal, and what it printed so far. */
export interface Beside {
  readonly process: ChildProcess;
  readonly said: { out: string; err: string };
  /** With its exit code, or the signal that ended it. */
  readonly ended: Promise<number | string>;
  /** When it has printed that; rejects when it ends without. */
  printed(text: string): Promise<void>;
}

/** A home of its own, and the ways to start programs in it on one database with workers. */
export function openDesk(url: string) {
  const home = realpathSync(mkdtempSync(join(tmpdir(), "mandate-beside-")));
  const cwd = join(home, "workspace");
  mkdirSync(cwd);
  const started: ChildProcess[] = [];
  const env = {
    ...childEnvironment,
    HOME: home,
    MANDATE_HOME: join(home, "mandate"),
    MANDATE_DATABASE_URL: url,
    MANDATE_ENGINE: "dbos",
    MANDATE_MODEL: "scripted/echo",
  };
  const start = (...words: readonly string[]): Beside => {
    const process = spawn("node", words, { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
    started.push(process);
    return follow(process);
  };
  return {
    mandate: (...words: readonly string[]) =>
      start(join(import.meta.dirname, "../../mandate.ts"), ...words),
    /** A program that uses the library, as `mandate`. */
    program: (text: string) =>
      start(
        "--input-type=module-typescript",
        "--eval",
        `import { createMandate } from "${join(import.meta.dirname, "../../index.ts")}";
         const mandate = await createMandate();
         ${text}`,
      ),
    [Symbol.dispose]() {
      for (const process of started) process.kill("SIGKILL");
      rmSync(home, { recursive: true, force: true });
    },
  };
}

function follow(process: ChildProcess): Beside {
  const said = { out: "", err: "" };
  const listeners = new Set<() => void>();
  const hear = (part: "out" | "err") => (chunk: unknown) => {
    said[part] += String(chunk);
    for (const listener of [...listeners]) listener();
  };
  process.stdout?.on("data", hear("out"));
  process.stderr?.on("data", hear("err"));
  const ended = new Promise<number | string>((resolve) => {
    process.once("close", (code, signal) => resolve(code ?? signal ?? "gone"));
  });
  return {
    process,
    said,
    ended,
    printed: (text) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          if (said.out.includes(text)) resolve();
        };
        listeners.add(look);
        look();
        void ended.then((code) => reject(new Error(`It ended with ${code}: ${said.err}`)));
      }),
  };
}
