import { realpathSync, statSync } from "node:fs";
import { delimiter, dirname, isAbsolute, join } from "node:path";
import { agentFolderAround, agentFoldersVersion, projectProgramsAround } from "./agent-folders.ts";

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

const known = new Map<string, { readonly version: number; readonly folders: readonly string[] }>();

/** The entries of a PATH that may be handed to programs that we start, in their order. */
export function programFolders(path: string | undefined): readonly string[] {
  const version = agentFoldersVersion();
  const before = known.get(path ?? "");
  if (before?.version === version) return before.folders;
  const entries = (path ?? "").split(delimiter).filter((entry) => isAbsolute(entry));
  const folders = [...new Set(entries)].filter((entry) => {
    return folderProblem(entry) === undefined && !leadsInside(entry);
  });
  known.set(path ?? "", { version, folders });
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
export function isOwnNode(real: string): boolean {
  return real === realpathSync.native(process.execPath);
}

/** Why programs are not taken from an absolute folder, in words that follow "which"; else undefined. */
export function folderProblem(folder: string): string | undefined {
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
