import { type Dirent, readdirSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { isBelow } from "../../contracts/write-roots.ts";
import { reasonOf } from "../../ports/message-of.ts";
import type { SkillProblem } from "./skill.ts";

/** A folder that is searched for skills. */
export interface SkillDirectory {
  readonly path: string;
  /** The name of the place for people: "user", "workspace". */
  readonly origin: string;
  /** The folder is untrusted: no link may point outside, and its skills need trust. */
  readonly isRepository?: boolean;
  /** The folder that links of a repository must stay in; its root. Absent: this folder. */
  readonly boundary?: string;
}

export interface SkillFolder {
  /** The real path, links resolved. */
  readonly folder: string;
  /** The path of SKILL.md, links not resolved. */
  readonly file: string;
  /** The file name of SKILL.md, in its own spelling. */
  readonly entry: string;
  /** The name of the folder. */
  readonly name: string;
}

interface FoundFolders {
  readonly skills: readonly SkillFolder[];
  readonly problems: readonly SkillProblem[];
  /** The state of every folder that was searched. While no state changes, no skill was added. */
  readonly looked: ReadonlyMap<string, string>;
}

const maximumDepth = 3;
const maximumFolders = 5000;

/**
 * Finds the folders with a SKILL.md: the folder itself, its subfolders, and deeper ones. The
 * folders below a SKILL.md belong to that skill.
 */
export function findSkillFolders(directory: SkillDirectory): FoundFolders {
  const root = resolve(directory.path);
  const skills: SkillFolder[] = [];
  const problems: SkillProblem[] = [];
  const looked = new Map<string, string>();
  const real = new Set<string>();
  const boundary = directory.isRepository === true ? boundaryOf(directory, root) : undefined;
  const queue: { readonly place: string; readonly depth: number }[] = [{ place: root, depth: 0 }];
  for (const { place, depth } of queue) {
    looked.set(place, stampOf(place));
    try {
      const folder = realpathSync.native(place);
      if (boundary !== undefined && !isBelow(folder, boundary)) {
        if (!statSync(folder).isDirectory()) continue;
        throw new Error(
          "a symbolic link that points outside its repository; copy the folder instead",
        );
      }
      if (real.has(folder)) continue;
      real.add(folder);
      const entries = readdirSync(folder, { withFileTypes: true });
      const entry = skillFile(entries);
      if (entry !== undefined) {
        skills.push({ folder, entry, file: join(place, entry), name: basename(place) });
        continue;
      }
      if (depth === maximumDepth) continue;
      for (const name of foldersAmong(entries)) {
        if (queue.length >= maximumFolders) {
          throw new Error(`more than ${maximumFolders} folders; name the folder of the skills`);
        }
        queue.push({ place: join(place, name), depth: depth + 1 });
      }
    } catch (error) {
      const problem = describe(error);
      if (problem !== undefined) {
        problems.push({ name: basename(place), file: place, message: `${place}: ${problem}` });
      }
    }
  }
  skills.sort((left, right) => (left.file < right.file ? -1 : 1));
  return { skills, problems, looked };
}

/**
 * The folder that links must stay in. The searched folder itself must not be a link that leaves its
 * parent.
 */
function boundaryOf({ boundary }: SkillDirectory, root: string): string {
  try {
    if (boundary !== undefined) return realpathSync.native(boundary);
    return join(realpathSync.native(dirname(root)), basename(root));
  } catch {
    return root;
  }
}

function skillFile(entries: readonly Dirent[]): string | undefined {
  const names = entries.map(({ name }) => name).filter((name) => /^skill\.md$/i.test(name));
  return names.includes("SKILL.md") ? "SKILL.md" : names.sort()[0];
}

function foldersAmong(entries: readonly Dirent[]): readonly string[] {
  return entries
    .filter((entry) => entry.isDirectory() || entry.isSymbolicLink())
    .map(({ name }) => name)
    .filter((name) => !name.startsWith(".") && name !== "node_modules")
    .sort();
}

/** Undefined when there is no such folder: absent, a file, or a link to either. */
function describe(error: unknown): string | undefined {
  const { code } = error as NodeJS.ErrnoException;
  if (code === "ENOENT" || code === "ENOTDIR") return undefined;
  return `cannot be read: ${reasonOf(error)}`;
}

/** Tells whether a file or folder is what it was: equal stamps, nothing changed. */
export function stampOf(place: string): string {
  try {
    const { ctimeNs, ino, size } = statSync(place, { bigint: true });
    return `${ctimeNs} ${size} ${ino}`;
  } catch (error) {
    return String((error as NodeJS.ErrnoException).code);
  }
}
