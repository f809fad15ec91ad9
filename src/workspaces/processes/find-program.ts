import { accessSync, constants, lstatSync, readlinkSync, realpathSync, statSync } from "node:fs";
import { basename, delimiter, dirname, isAbsolute, join, parse, resolve, sep } from "node:path";
import { agentFolderAround, agentFoldersVersion, projectProgramsAround } from "./agent-folders.ts";

/** A program that may be started; only the functions of this file return one. */
export interface Program {
  /** Absolute. For a program that was looked up: the real path, which no link can change. */
  readonly file: string;
  /** The name by which it is called: some programs behave according to their first argument. */
  readonly calledAs: string;
  /** The program was found by name, and is checked again when agents get another folder. */
  readonly isLookedUp: boolean;
  readonly [isProgram]: true;
}

declare const isProgram: unique symbol;

export type ProgramFinding =
  | { readonly isFound: true; readonly program: Program }
  | {
      readonly isFound: false;
      /**
       * Where it is and why it is not used, to follow its name in a sentence; null: it was not
       * found.
       */
      readonly refused: string | null;
    };

interface Known {
  readonly version: number;
  readonly finding: ProgramFinding;
}

const known = new Map<string, Known>();

/**
 * Looks up a helper program in the absolute entries of PATH. A program that an agent or a
 * repository could have created is refused, also behind a link. The result is cached for each PATH
 * until agents get another folder to write in.
 */
export function findProgram(
  name: string,
  path: string | undefined = process.env["PATH"],
): ProgramFinding {
  return find(name, (path ?? "").split(delimiter));
}

/** Finds a system program: the usual folders are searched first. */
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
  // A missing program may be installed at any time.
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

/** The Node that runs Mandate: allowed anywhere, because it is running already. */
export function ownNode(): Program {
  return asProgram(process.execPath, process.execPath, false);
}

const checked = new WeakMap<Program, number>();

/** Throws if a program that was looked up earlier is now in a folder that agents can write. */
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

/** Why an executable file is not started, as a phrase that follows "which"; else undefined. */
export function programProblem(file: string): string | undefined {
  if (isOwnNode(realpathSync.native(file))) return undefined;
  for (const place of linksFrom(file)) {
    const problem = folderProblem(dirname(place));
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** The file, every link on its way including folders, and its real path. */
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

/** Where every machine has its programs, even if PATH does not list them. */
export const usualFolders: readonly string[] =
  process.platform === "win32"
    ? windowsFolders(process.env["SYSTEMROOT"])
    : ["/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin"];

/** Programs that other programs look up on their PATH and run. */
const interpreters = [
  ...["sh", "bash", "dash", "zsh", "env", "node", "npm", "npx", "pnpm", "yarn", "bun", "deno"],
  ...["python", "python3", "pip", "uv", "uvx", "git", "ssh", "perl", "ruby", "java", "docker"],
];

const knownFolders = new Map<
  string,
  { readonly version: number; readonly folders: readonly string[] }
>();

/** The entries of a PATH that may be passed to started programs, in order. */
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

/** The Node that runs Mandate may be in the workspace: it is running already. */
function isOwnNode(real: string): boolean {
  return real === realpathSync.native(process.execPath);
}

/** Why programs are not taken from a folder, as a phrase that follows "which"; else undefined. */
function folderProblem(folder: string): string | undefined {
  const around = placesOf(folder)
    .map((place) => agentFolderAround(place) ?? projectProgramsAround(place))
    .find((place) => place !== undefined);
  if (around !== undefined) return `is inside the workspace "${around}"`;
  return isWritableByAll(folder) ? "is in a folder that every user can write" : undefined;
}

/** The path as given, and its real path. */
function placesOf(folder: string): readonly string[] {
  try {
    return [folder, realpathSync.native(folder)];
  } catch {
    return [folder];
  }
}

/** Even with the sticky bit, which protects existing files but not unused names. */
function isWritableByAll(folder: string): boolean {
  if (process.platform === "win32") return false;
  const status = statSync(folder, { throwIfNoEntry: false });
  return status?.isDirectory() === true && (status.mode & 0o002) !== 0;
}

function windowsFolders(root = "C:\\Windows"): readonly string[] {
  const folder = isAbsolute(root) && dirname(root) !== root ? root : "C:\\Windows";
  return [join(folder, "System32"), folder];
}

/** The most links that the operating system follows. */
const mostLinks = 40;

/** Every link that an absolute path leads through, including folders and the path itself. */
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

/** By its path, which every POSIX system has: PATH cannot choose another shell. */
export function systemShell(): Program {
  return namedProgram("/bin/sh");
}
