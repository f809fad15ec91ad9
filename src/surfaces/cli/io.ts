import { exitCode } from "./exit-code.ts";

/** Everything the command line has of the outside world, so that tests can give it another one. */
export interface Io {
  readonly stdout: Writer;
  readonly stderr: Writer;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** How people start this program here, for the commands that it tells them to type. */
  readonly program: string;
  readonly pid: number;
  /** The process is this program's alone, and may be ended when it does not get on. */
  readonly ownsProcess?: true;
  now(): number;
  /** Puts a question to the person at the terminal; absent when there is nobody to ask. */
  readonly ask?: (prompt: string, signal: AbortSignal) => Promise<string>;
  /** All of standard input; throws when it is more than that. Absent when there is none. */
  readonly readInput?: (maximumBytes: number) => Promise<Uint8Array>;
  /** Calls back when the process is asked to stop, until the returned function is called. */
  onSignal(listener: (signal: StopSignal) => void): () => void;
  /** Ends the process without waiting for anything. */
  leave(code: number): void;
}

export type StopSignal = "SIGINT" | "SIGTERM" | "SIGHUP";

export interface Writer {
  write(text: string): void;
  /** Every byte as it is. Only for what a person asked to have unchanged: a patch, a raw result. */
  writeExact(text: string): void;
  /** Drawn for people: colours and redrawing are welcome. */
  readonly isTerminal: boolean;
  /** May change while the program runs. */
  readonly columns: number;
  readonly rows: number;
}

/** Resolves with the first signal, which ends a command in order; the second ends it at once. */
export function untilStopped(io: Io): Promise<void> {
  const { promise, resolve: stop } = Promise.withResolvers<void>();
  let isStopping = false;
  io.onSignal(() => {
    if (isStopping) io.leave(exitCode.interrupted);
    isStopping = true;
    stop();
  });
  return promise;
}
