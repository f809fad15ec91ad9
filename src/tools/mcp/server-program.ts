import { isAbsolute, resolve } from "node:path";
import { MandateError } from "../../ports/mandate-error.ts";
import {
  describeMissing,
  findProgram,
  namedProgram,
  type Program,
  programProblem,
} from "../../processes/find-program.ts";
import type { ExpandedStdio } from "./expand-server.ts";

/**
 * The program of a server, looked up like our own helpers. Only the person's own configuration can
 * name one that lies in a workspace, by its absolute path or relative to the folder it names.
 */
export function serverProgram({ command, cwd, isOwn, searchPath }: ExpandedStdio): Program {
  if (isAbsolute(command)) return isOwn ? namedProgram(command) : outsideProgram(command);
  if (/[\\/]/.test(command)) {
    if (isOwn && cwd !== null) return namedProgram(resolve(cwd, command));
    throw problem(
      "its command is a relative path. Write its absolute path, or the name of a program on the PATH",
    );
  }
  const finding = findProgram(command, searchPath);
  if (finding.isFound) return finding.program;
  if (finding.refused === null) throw missing();
  throw problem(
    `${describeMissing("its command", finding.refused)} Or name it by its absolute path in your ` +
      "own configuration",
  );
}

function outsideProgram(file: string): Program {
  let reason: string | undefined;
  try {
    reason = programProblem(file);
  } catch {
    throw missing();
  }
  if (reason === undefined) return namedProgram(file);
  throw problem(
    `its command ${reason}. Only your own configuration can name a program there, under mcp.servers`,
  );
}

function missing(): MandateError {
  return problem("its command or its folder does not exist");
}

function problem(says: string): MandateError {
  return new MandateError("config-invalid", says);
}
