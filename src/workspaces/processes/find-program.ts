import { accessSync, constants, realpathSync, statSync } from "node:fs";
import { basename, delimiter, dirname, isAbsolute, join } from "node:path";
import { agentFoldersVersion } from "./agent-folders.ts";
import { linksOnTheWay } from "./links-on-the-way.ts";
import { folderProblem, isOwnNode, usualFolders } from "./program-folders.ts";

/** A program that may be started: only the functions of this file give one. */
export interface Program {
  /** Absolute. Of a program that was looked up: its real path, which no link can divert. */
  readonly file: string;
  /** The name it is called by: some programs are several, by their first argument. */
  readonly calledAs: string;
  /** It was found by its name, and is checked again when agents get another folder. */
  readonly isLookedUp: boolean;
  readonly [isProgram]: true;
}

declare const isProgram: unique symbol;

export type ProgramFinding =
  | { readonly isFound: true; readonly program: Program }
  | {
      readonly isFound: false;
      /** Where it is and why it is not used, in words that follow its name; null: it is nowhere. */
      readonly refused: string | null;
    };

interface Known {
  readonly version: number;
  readonly finding: ProgramFinding;
}

const known = new Map<string, Known>();

/**
 * Looks a helper program up, along the absolute entries of PATH. One that an agent or a repository
 * could have put there is not taken, nor one behind a link that they could have made. Looked for
 * once for each PATH, and again when agents get another folder to write in.
 */
export function findProgram(
  name: string,
  path: string | undefined = process.env["PATH"],
): ProgramFinding {
  return find(name, (path ?? "").split(delimiter));
}

/** The same for what belongs to the system: the usual folders come first. */
export function findSystemProgram(
  name: string,
  path: string | undefined = process.env["PATH"],
): ProgramFinding {
  return find(name, [...usualFolders, ...(path ?? "").split(delimiter)]);
}

function find(name: string, folders: readonly string[]): ProgramFinding {
  const version = agentFoldersVersion();
  const key = [name, ...folders].join("\0");
  const before = known.get(key);
  if (before?.version === version) return before.finding;
  const finding = lookFor(name, folders);
  // What is missing may be installed at any time.
  if (finding.isFound) known.set(key, { version, finding });
  return finding;
}

export function describeMissing(name: string, refused: string | null): string {
  return refused === null
    ? `The program ${name} was not found. Install it, and put it on the PATH.`
    : `${name} was found only at ${refused}, and is not used: an agent or a repository could have ` +
        `written it. Install ${name} outside of every workspace.`;
}

/** A program that the person's own configuration names by its absolute path. */
export function namedProgram(file: string): Program {
  if (!isAbsolute(file)) throw new Error(`not an absolute path: ${file}`);
  return asProgram(file, file, false);
}

/** The Node that runs us: started wherever it lies, since it runs already. */
export function ownNode(): Program {
  return asProgram(process.execPath, process.execPath, false);
}

const checked = new WeakMap<Program, number>();

/** Throws when a program that was looked up earlier now lies where an agent can write. */
export function requireOutside(program: Program): void {
  const version = agentFoldersVersion();
  if (!program.isLookedUp || checked.get(program) === version) return;
  const problem = programProblem(program.calledAs);
  if (problem !== undefined) {
    const name = basename(program.calledAs);
    throw new Error(describeMissing(name, `"${program.calledAs}", which ${problem}`));
  }
  checked.set(program, version);
}

function lookFor(name: string, folders: readonly string[]): ProgramFinding {
  let refused: string | null = null;
  for (const folder of new Set(folders.filter((entry) => isAbsolute(entry)))) {
    for (const file of spellings(name).map((each) => join(folder, each))) {
      if (!isExecutable(file)) continue;
      const problem = programProblem(file);
      if (problem === undefined) {
        return { isFound: true, program: asProgram(realpathSync.native(file), file, true) };
      }
      refused ??= `"${file}", which ${problem}`;
    }
  }
  return { isFound: false, refused };
}

/** Why an executable file is not started, in words that follow "which"; else undefined. */
export function programProblem(file: string): string | undefined {
  if (isOwnNode(realpathSync.native(file))) return undefined;
  for (const place of linksFrom(file)) {
    const problem = folderProblem(dirname(place));
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** The file, every link on its way, folders included, and what it is in the end. */
function linksFrom(file: string): readonly string[] {
  return [file, ...linksOnTheWay(file), realpathSync.native(file)];
}

function isExecutable(file: string): boolean {
  try {
    if (statSync(file, { throwIfNoEntry: false })?.isFile() !== true) return false;
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function spellings(name: string): readonly string[] {
  if (basename(name) !== name) throw new Error(`not the name of a program: ${name}`);
  return process.platform === "win32" ? [`${name}.exe`] : [name];
}

function asProgram(file: string, calledAs: string, isLookedUp: boolean): Program {
  return { file, calledAs, isLookedUp } as Program;
}
