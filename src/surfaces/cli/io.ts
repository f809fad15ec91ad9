import { exitCode } from "./exit-code.ts";

/** Everything that the command line uses of the process, so that tests can replace it. */
export interface Io {
  readonly stdout: Writer;
  readonly stderr: Writer;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** How people start this program here, for the commands that it tells them to type. */
  readonly program: string;
  readonly pid: number;
  /** The process belongs to this program, so a watchdog may end it when it hangs. */
  readonly ownsProcess?: true;
  now(): number;
  /** Asks the person at the terminal; absent without a terminal. */
  readonly ask?: (prompt: string, signal: AbortSignal) => Promise<string>;
  /** All of standard input; throws when it is longer. Absent without standard input. */
  readonly readInput?: (maximumBytes: number) => Promise<Uint8Array>;
  /** Calls back when the process is asked to stop, until the returned function is called. */
  onSignal(listener: (signal: StopSignal) => void): () => void;
  /** Ends the process without waiting for anything. */
  leave(code: number): void;
}

/** The person at the terminal: who can open the database is its operator. */
export const localUser = { id: "local", role: "operator", allRuns: true } as const;

export type StopSignal = "SIGINT" | "SIGTERM" | "SIGHUP";

export interface Writer {
  write(text: string): void;
  /** Writes every byte unchanged: for a patch or a raw result that a person asked for. */
  writeExact(text: string): void;
  /** A terminal, which gets colours and redrawing. */
  readonly isTerminal: boolean;
  /** May change while the program runs. */
  readonly columns: number;
  readonly rows: number;
}

/** Asks a yes-or-no question; the end of the input, and any answer but yes, mean no. */
export async function agrees(ask: NonNullable<Io["ask"]>, question: string): Promise<boolean> {
  const answer = await ask(question, new AbortController().signal).catch(() => "");
  return /^y(?:es)?$/i.test(answer.trim());
}

/** Resolves at the first signal, which ends a command in order; the second one exits at once. */
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
