import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { until as untilTrue } from "../../testing/until.ts";
import type { Io, StopSignal } from "./io.ts";
import { main } from "./main.ts";

export interface Typed {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** A call that is still under way. */
export interface Typing {
  readonly done: Promise<Typed>;
  readonly soFar: () => Typed;
  signal(signal: StopSignal): void;
  /** Exit codes with which the program left without waiting. */
  readonly left: number[];
}

interface DeskOptions {
  readonly ask?: Io["ask"];
  readonly environment?: Io["environment"];
  readonly cwd?: string;
  readonly program?: string;
  /** What comes in on standard input. */
  readonly input?: string;
  readonly terminal?: { readonly columns: number; readonly rows: number };
  /** False: the person has not said that agents may work in the folder. Default: they say so. */
  readonly consents?: boolean;
}

/** The commands that start work in a folder. */
const starting: ReadonlySet<string | undefined> = new Set([
  ...["run", "resume", "fork", "command", "serve", "/oracle"],
]);

/** Most tests are about what happens once the person has consented to the folder. */
function withConsent(words: readonly string[]): readonly string[] {
  const [word, ...rest] = words;
  return word !== undefined && starting.has(word) ? [word, "--trust-folder", ...rest] : words;
}

/** A home of its own, a folder to work in, and somebody who types commands there. */
export class Desk {
  readonly folder = realpathSync(mkdtempSync(join(tmpdir(), "mandate-desk-")));
  readonly home = realpathSync(mkdtempSync(join(tmpdir(), "mandate-home-")));
  /** How far the person's time is ahead, in milliseconds. */
  aheadMs = 0;

  clear(): void {
    for (const folder of [this.folder, this.home]) rmSync(folder, { recursive: true, force: true });
  }

  write(name: string, text: string): string {
    const file = join(this.folder, name);
    writeFileSync(file, text);
    return file;
  }

  async type(words: readonly string[], options: DeskOptions = {}): Promise<Typed> {
    return this.start(words, options).done;
  }

  start(words: readonly string[], options: DeskOptions = {}): Typing {
    let out = "";
    let err = "";
    const listeners = new Set<(signal: StopSignal) => void>();
    const left: number[] = [];
    const screen = { columns: 80, rows: 24, ...options.terminal };
    const isTerminal = options.terminal !== undefined;
    const io: Io = {
      stdout: {
        ...screen,
        isTerminal,
        write(text) {
          out += text;
        },
        writeExact(text) {
          out += text;
        },
      },
      stderr: {
        ...screen,
        isTerminal,
        write(text) {
          err += text;
        },
        writeExact(text) {
          err += text;
        },
      },
      environment: { MANDATE_HOME: this.home, XDG_CONFIG_HOME: this.home, ...options.environment },
      cwd: options.cwd ?? this.folder,
      program: options.program ?? "mandate",
      pid: process.pid,
      now: () => Date.now() + this.aheadMs,
      ...(options.ask && { ask: options.ask }),
      readInput: async () => Buffer.from(options.input ?? ""),
      onSignal(listener) {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
      leave: (code) => void left.push(code),
    };
    const soFar = (code = Number.NaN) => ({ code, out, err });
    return {
      done: main(options.consents === false ? words : withConsent(words), io).then(soFar),
      soFar,
      signal(signal) {
        for (const listener of [...listeners]) listener(signal);
      },
      left,
    };
  }
}

/** Waits for something that another part of the program is about to do. */
export async function until(holds: () => boolean, what = "it"): Promise<void> {
  await untilTrue(what, holds);
}
