import { accessSync, constants, lstatSync, readlinkSync, realpathSync, statSync } from "node:fs";
import { basename, delimiter, dirname, isAbsolute, join, parse, resolve, sep } from "node:path";
import { agentFolderAround, agentFoldersVersion, projectProgramsAround } from "./agent-folders.ts";

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

/** Where every machine keeps its programs, also when PATH does not say so. */
export const usualFolders: readonly string[] =
  process.platform === "win32"
    ? windowsFolders(process.env["SYSTEMROOT"])
    : ["/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin"];

/** What programs look up on the PATH that they are given, and run. */
const interpreters = [
  ...["sh", "bash", "dash", "zsh", "env", "node", "npm", "npx", "pnpm", "yarn", "bun", "deno"],
  ...["python", "python3", "pip", "uv", "uvx", "git", "ssh", "perl", "ruby", "java", "docker"],
];

const knownFolders = new Map<
  string,
  { readonly version: number; readonly folders: readonly string[] }
>();

/** The entries of a PATH that may be handed to programs that we start, in their order. */
export function programFolders(path: string | undefined): readonly string[] {
  const version = agentFoldersVersion();
  const before = knownFolders.get(path ?? "");
  if (before?.version === version) return before.folders;
  const entries = (path ?? "").split(delimiter).filter((entry) => isAbsolute(entry));
  const folders = [...new Set(entries)].filter((entry) => {
    return folderProblem(entry) === undefined && !leadsInside(entry);
  });
  knownFolders.set(path ?? "", { version, folders });
  return folders;
}

/** Whether an interpreter in this folder is a link into an agent folder. */
function leadsInside(folder: string): boolean {
  return interpreters.some((name) => {
    try {
      const real = realpathSync.native(join(folder, name));
      return folderProblem(dirname(real)) !== undefined && !isOwnNode(real);
    } catch {
      return false;
    }
  });
}

/** The Node that runs us may lie in the workspace: it runs already. */
function isOwnNode(real: string): boolean {
  return real === realpathSync.native(process.execPath);
}

/** Why programs are not taken from an absolute folder, in words that follow "which"; else undefined. */
function folderProblem(folder: string): string | undefined {
  const around = placesOf(folder)
    .map((place) => agentFolderAround(place) ?? projectProgramsAround(place))
    .find((place) => place !== undefined);
  if (around !== undefined) return `is inside the workspace "${around}"`;
  return isWritableByAll(folder) ? "is in a folder that every user can write" : undefined;
}

/** The path as written, and where it really leads. */
function placesOf(folder: string): readonly string[] {
  try {
    return [folder, realpathSync.native(folder)];
  } catch {
    return [folder];
  }
}

/** Also with the sticky bit: it protects the files that exist, not the names that are free. */
function isWritableByAll(folder: string): boolean {
  if (process.platform === "win32") return false;
  const status = statSync(folder, { throwIfNoEntry: false });
  return status?.isDirectory() === true && (status.mode & 0o002) !== 0;
}

function windowsFolders(root = "C:\\Windows"): readonly string[] {
  const folder = isAbsolute(root) && dirname(root) !== root ? root : "C:\\Windows";
  return [join(folder, "System32"), folder];
}

/** As many as the system follows. */
const mostLinks = 40;

/** Every link that an absolute path leads through, the folders on the way and the path itself included. */
export function linksOnTheWay(path: string): readonly string[] {
  const passed = new Set<string>();
  const follow = (target: string): string => {
    let at = parse(target).root;
    for (const name of target.slice(at.length).split(sep)) {
      at = join(at, name);
      if (passed.size >= mostLinks || passed.has(at)) continue;
      const leadsTo = targetOf(at);
      if (leadsTo === undefined) continue;
      passed.add(at);
      at = follow(resolve(dirname(at), leadsTo));
    }
    return at;
  };
  follow(path);
  return [...passed];
}

function targetOf(place: string): string | undefined {
  try {
    return lstatSync(place).isSymbolicLink() ? readlinkSync(place) : undefined;
  } catch {
    return undefined;
  }
}

/** By its place, which every POSIX system has: PATH has no say in which shell it is. */
export function systemShell(): Program {
  return namedProgram("/bin/sh");
}
