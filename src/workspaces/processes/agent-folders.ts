/**
 * Folders that agents of this process, or the repository that they work in, may have written. No
 * program is started from one of them. The set only grows, since a server binds workspaces over
 * time.
 *
 * Also names the paths of Mandate's own installation, which agents must not write.
 */
import { existsSync, realpathSync } from "node:fs";
import { userInfo } from "node:os";
import { basename, dirname, join, parse, resolve } from "node:path";
import { isBelow } from "../../contracts/write-roots.ts";

const folders = new Set<string>();
/** The folders as given, so that each is examined once. */
const noted = new Set<string>();
let version = 0;

/** Working copies come and go; a forgotten entry is examined once more. */
const mostNoted = 10_000;

/** Marks a workspace and the repository that contains it. */
export function noteWorkspace(folder: string): void {
  const place = resolve(folder);
  if (noted.has(place)) return;
  const real = noteAgentFolder(place);
  const repository = repositoryAround(real);
  if (repository !== undefined) add(repository);
}

/**
 * Marks the folder in which something is started, which is its workspace unless it names another.
 * The root of the file system is not marked: it contains every program of the machine.
 */
export function noteStartFolder(folder: string): void {
  const place = resolve(folder);
  if (place !== parse(place).root) noteWorkspace(place);
}

/** Marks a folder in which agents may write; returns its real path. */
export function noteAgentFolder(folder: string): string {
  const place = resolve(folder);
  const real = realPlace(place);
  add(place);
  add(real);
  if (noted.size >= mostNoted) noted.clear();
  noted.add(place);
  return real;
}

/** Increases when a folder is added: earlier answers must be checked again. */
export function agentFoldersVersion(): number {
  noteCurrentDirectory();
  return version;
}

/** The agent folder that contains a path or is that path; undefined: none does. */
export function agentFolderAround(place: string): string | undefined {
  noteCurrentDirectory();
  for (const folder of folders) if (isBelow(place, folder)) return folder;
  return undefined;
}

/**
 * Whether a folder of programs belongs to a project around an agent folder: npm puts the `.bin` of
 * every parent folder on PATH, and a virtual environment may be beside the workspace. The home
 * folder is not a project.
 */
export function projectProgramsAround(entry: string): string | undefined {
  const project = projectOf(entry);
  if (project === undefined || project === parse(project).root) return undefined;
  if (project === homeOfUser()) return undefined;
  noteCurrentDirectory();
  for (const folder of folders) if (isBelow(folder, project)) return project;
  return undefined;
}

function projectOf(entry: string): string | undefined {
  const above = dirname(entry);
  if (basename(entry) === ".bin" && basename(above) === "node_modules") return dirname(above);
  return existsSync(join(above, "pyvenv.cfg")) ? dirname(above) : undefined;
}

function noteCurrentDirectory(): void {
  try {
    noteStartFolder(process.cwd());
  } catch {
    // The current folder was removed: nothing can be started in it.
  }
}

/** A folder below a known one adds nothing: a run makes thousands of working copies. */
function add(folder: string): void {
  for (const known of folders) if (isBelow(folder, known)) return;
  folders.add(folder);
  version += 1;
}

/** Resolves links as far as the folder exists. */
function realPlace(folder: string): string {
  try {
    return realpathSync.native(folder);
  } catch {
    const parent = dirname(folder);
    return parent === folder ? folder : join(realPlace(parent), basename(folder));
  }
}

function repositoryAround(folder: string): string | undefined {
  for (let at = folder; at !== dirname(at); at = dirname(at)) {
    if ([".git", ".hg", ".jj", ".svn"].some((name) => existsSync(join(at, name)))) return at;
  }
  return undefined;
}

/** From the account, not from HOME, which an environment file of a project can set. */
export function homeOfUser(): string | undefined {
  try {
    return realPlace(userInfo().homedir);
  } catch {
    return undefined;
  }
}

/**
 * What the next start of Mandate executes: the Node that runs it, its own code, and every folder in
 * which it searches packages, existing or not. In a clone of Mandate, or in a project that depends
 * on it, these are inside the workspace: agents can read them but not write them.
 */
export function installationPaths(): readonly string[] {
  // This file is <package>/src/workspaces/processes/… or <package>/dist/workspaces/processes/….
  const code = dirname(dirname(import.meta.dirname));
  const packages: string[] = [];
  for (let at = dirname(code); at !== dirname(at); at = dirname(at)) {
    const place = basename(at) === "node_modules" ? at : join(at, "node_modules");
    if (!packages.includes(place)) packages.push(place);
  }
  return [realOrSame(process.execPath), code, ...packages];
}

function realOrSame(file: string): string {
  try {
    return realpathSync.native(file);
  } catch {
    return file;
  }
}
