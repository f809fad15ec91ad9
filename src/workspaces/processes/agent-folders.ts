/**
 * The folders that agents of this process, or the repository they work in, may have written. No
 * program is started from one of them. The set only grows: a server binds workspaces over time.
 */
import { existsSync, realpathSync } from "node:fs";
import { userInfo } from "node:os";
import { basename, dirname, join, parse, resolve } from "node:path";
import { isBelow } from "../../contracts/write-roots.ts";

const folders = new Set<string>();
/** As they were given, so that each is looked at once. */
const noted = new Set<string>();
let version = 0;

/** Working copies come and go; what is forgotten is looked at once more. */
const mostNoted = 10_000;

/** Marks a workspace, and the repository that it is a part of. */
export function noteWorkspace(folder: string): void {
  const place = resolve(folder);
  if (noted.has(place)) return;
  const real = noteAgentFolder(place);
  const repository = repositoryAround(real);
  if (repository !== undefined) add(repository);
}

/**
 * Marks the folder that something is started in, which is its workspace unless it names another. A
 * service that starts at the root has none: every program of the machine would lie in it.
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

/** Rises whenever a folder is added: an answer that was right before has to be checked again. */
export function agentFoldersVersion(): number {
  noteCurrentDirectory();
  return version;
}

/** The agent folder that holds this place, or that the place is; undefined where none does. */
export function agentFolderAround(place: string): string | undefined {
  noteCurrentDirectory();
  for (const folder of folders) if (isBelow(place, folder)) return folder;
  return undefined;
}

/**
 * Whether a folder of programs belongs to a project around an agent folder: npm puts the `.bin` of
 * every folder above the current one on PATH, and a virtual environment may lie beside the
 * workspace. The home folder is no project.
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
    // It was removed: nothing in it can be started.
  }
}

/** A folder below another one is known already: a run makes thousands of working copies. */
function add(folder: string): void {
  for (const known of folders) if (isBelow(folder, known)) return;
  folders.add(folder);
  version += 1;
}

/** Links resolved as far as the folder exists. */
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

/** By the account, not by HOME: a project's environment file can set that. */
export function homeOfUser(): string | undefined {
  try {
    return realPlace(userInfo().homedir);
  } catch {
    return undefined;
  }
}

/**
 * What the next start of Mandate executes: the Node that runs it, its own code, and every folder in
 * which it looks for packages, there or not. In a clone of Mandate, or in a project that depends on
 * it, these lie inside the workspace: agents can read them, and not write them.
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
