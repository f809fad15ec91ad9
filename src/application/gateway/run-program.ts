import { basename, isAbsolute, resolve } from "node:path";
import { MandateError } from "../../ports/mandate-error.ts";
import { delegationMark, endMarkedProcesses } from "../../workspaces/delegation-mark.ts";
import {
  describeMissing,
  findProgram,
  findSystemProgram,
  namedProgram,
  type Program,
} from "../../workspaces/processes/find-program.ts";
import { startProgram } from "../../workspaces/processes/start-program.ts";

export interface ProgramToRun {
  /** The program as the person typed it: a name, or a path. */
  readonly command: string;
  readonly args: readonly string[];
  readonly folder: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly delegationId: string;
  /** The database that its run is in. */
  readonly database: string;
}

/** How the program ended: its exit code, or the name of a signal. */
export type ProgramExit = number | string;

export interface RunningProgram {
  /** Resolves when it has ended. Rejects when it could not be started. */
  readonly ended: Promise<ProgramExit>;
  signal(name: "SIGINT" | "SIGTERM" | "SIGHUP" | "SIGKILL"): void;
  /** Ends what it has left running, wherever that is now. */
  endRest(): Promise<void>;
}

/**
 * Starts a program of the person at the person's terminal. It ends with this process; what it leaves
 * behind after a crash bears the mark of its delegation, and the recovery of the run ends it.
 */
export function runProgram(run: ProgramToRun): RunningProgram {
  const { args, command, database, delegationId, environment, folder } = run;
  const program = findNamed(command, folder, environment["PATH"]);
  const child = startProgram(
    {
      ...boundToThis(program, args),
      environment: { ...environment, ...delegationMark(database)(delegationId) },
      folder,
    },
    ["inherit", "inherit", "inherit"],
  );
  const { promise, reject, resolve: end } = Promise.withResolvers<ProgramExit>();
  child.once("error", reject);
  child.once("exit", (code, signal) => end(code ?? signal ?? 1));
  return {
    ended: promise,
    signal: (name) => void child.kill(name),
    endRest: () => endMarkedProcesses(database, new Set([delegationId])),
  };
}

function findNamed(command: string, folder: string, path: string | undefined): Program {
  if (isAbsolute(command) || basename(command) !== command) {
    return namedProgram(resolve(folder, command));
  }
  const found = findProgram(command, path);
  if (found.isFound) return found.program;
  throw new MandateError("usage", describeMissing(command, found.refused));
}

/** On Linux the kernel ends a program with the process that started it, however that one ends. */
function boundToThis(program: Program, args: readonly string[]) {
  const binder = process.platform === "linux" ? findSystemProgram("setpriv") : undefined;
  if (binder?.isFound !== true) return { program, args };
  const bound = ["--pdeathsig", "KILL", "--", program.calledAs, ...args];
  return { program: binder.program, args: bound };
}
