import {
  lchownSync,
  linkSync,
  lstatSync,
  readlinkSync,
  renameSync,
  rmdirSync,
  statSync,
  symlinkSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { makeFolder } from "../../../files.ts";
import type { WorkspaceBinding } from "../../bind-workspace.ts";
import { type OpenFolder, openFolder } from "../../open-file.ts";
import { entryAt, isEntry, isSameFile, lookAtFile } from "../compare-files.ts";
import {
  type IntegrationJournal,
  type IntegrationStep,
  stagingFolders,
} from "./integration-journal.ts";

/** Called after each effect that a recovery would find. */
export type StepObserver = (what: string) => void;

/**
 * Moves one path from its old to its new state, from any point at which a crash left it. The old
 * file is moved aside first, then the new one is linked in, which fails if another file appeared.
 * Between the two the path is empty for some microseconds, but an edit of the person is never
 * overwritten. Returns false if another file is there, which stays.
 */
export async function applyStep(
  journal: IntegrationJournal,
  index: number,
  observe: StepObserver,
): Promise<boolean> {
  const { path, before, after } = stepAt(journal, index);
  const folders = stagingFolders(journal);
  const kept = join(folders.old, String(index));
  return withFolderOf(journal.toplevel, path, after !== null, async (folder, name) => {
    if (folder === undefined) return after === null;
    const place = folder.entry(name);
    const now = await lookAtFile(place, journal.objectFormat);
    if (isEntry(now, after)) return true;
    const wasTaken = before !== null && now.kind === "nothing" && entryAt(kept) !== undefined;
    if (!wasTaken && !isEntry(now, before)) return false;
    if (!wasTaken && now.kind === "entry") {
      renameSync(place, kept);
      observe(`took ${path}`);
      if (!isSameFile(now.stats, lstatSync(kept, { bigint: true }))) {
        putIn(folder, name, kept);
        return false;
      }
    }
    if (after === null) return true;
    const isPut = putIn(folder, name, join(folders.fresh, path));
    observe(`put ${path}`);
    return isPut;
  });
}

/**
 * Moves one path back to its old state. Returns false if the path was changed by another process
 * since then; it stays as it is.
 */
export async function revertStep(
  journal: IntegrationJournal,
  index: number,
  observe: StepObserver,
): Promise<boolean> {
  const { path, before, after } = stepAt(journal, index);
  const folders = stagingFolders(journal);
  const kept = join(folders.old, String(index));
  return withFolderOf(journal.toplevel, path, before !== null, async (folder, name) => {
    if (folder === undefined) return before === null;
    const place = folder.entry(name);
    const now = await lookAtFile(place, journal.objectFormat);
    const isKept = entryAt(kept) !== undefined;
    if (isEntry(now, before) && !isKept) return true;
    if (after !== null && isEntry(now, after)) {
      // Without the old content nothing can be restored.
      if (before !== null && !isKept) return false;
      renameSync(place, join(folders.undone, String(index)));
      observe(`took ${path} back`);
      return before === null || putIn(folder, name, kept);
    }
    if (now.kind === "nothing" && isKept) return putIn(folder, name, kept);
    return isEntry(now, before);
  });
}

/**
 * Puts a staged file in place, only if nothing is there. The staged file keeps its name until
 * everything is done.
 */
function putIn(folder: OpenFolder, name: string, staged: string): boolean {
  const place = folder.entry(name);
  try {
    const stats = lstatSync(staged);
    if (stats.isSymbolicLink()) symlinkSync(readlinkSync(staged), place);
    else linkSync(staged, place);
    return true;
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    if (code === "EEXIST") return false;
    // Some file systems have no hard links. Then the check before the rename has to be enough.
    if (!["EPERM", "ENOTSUP", "EOPNOTSUPP", "EMLINK", "ENOSYS"].includes(code)) throw error;
    if (entryAt(place) !== undefined) return false;
    renameSync(staged, place);
    return true;
  }
}

function stepAt(journal: IntegrationJournal, index: number): IntegrationStep {
  const step = journal.steps[index];
  if (step === undefined) throw new RangeError(`an integration has no step ${index}`);
  return step;
}

/** Removes a folder of the target if it is empty, and says whether it was. */
export function removeIfEmpty(toplevel: string, path: string): boolean {
  const names = path.split("/");
  const name = names.pop() ?? "";
  const folder = openTargetFolder(toplevel, names);
  if (folder === undefined) return false;
  try {
    rmdirSync(folder.entry(name));
    return true;
  } catch {
    return false;
  } finally {
    folder.close();
  }
}

/**
 * Opens a folder of the person's files, name by name, each inside the one before it: links are not
 * followed, and a folder that was moved is detected. Undefined when the folder does not exist, or
 * when something else has its name.
 */
function openTargetFolder(
  toplevel: string,
  names: readonly string[],
  create = false,
): OpenFolder | undefined {
  const binding: WorkspaceBinding = {
    root: toplevel,
    isolation: "shared",
    allowWrites: true,
    writeRoots: [toplevel],
  };
  let folder = openFolder(binding, toplevel, ".");
  for (const [index, name] of names.entries()) {
    const parent = folder;
    try {
      if (create) makeOwnFolder(parent.entry(name));
      folder = openFolder(binding, parent.entry(name), name);
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    } finally {
      parent.close();
    }
    // Another folder below the same root is not accepted: the file belongs exactly here.
    if (folder.path === join(toplevel, ...names.slice(0, index + 1))) continue;
    folder.close();
    return undefined;
  }
  return folder;
}

/** A folder that root creates belongs to the owner of the parent folder. */
function makeOwnFolder(path: string): void {
  if (!makeFolder(path) || process.geteuid?.() !== 0) return;
  const { uid, gid } = statSync(dirname(path));
  // The folder itself, not the target of a link that replaced it.
  lchownSync(path, uid, gid);
}

function isMissing(error: unknown): boolean {
  const { code = "" } = error as NodeJS.ErrnoException;
  return ["ENOENT", "ENOTDIR", "ELOOP"].includes(code);
}

/** Works in the folder of a path; `folder` is undefined if it does not exist. */
async function withFolderOf<Result>(
  toplevel: string,
  path: string,
  create: boolean,
  work: (folder: OpenFolder | undefined, name: string) => Promise<Result> | Result,
): Promise<Result> {
  const names = path.split("/");
  const name = names.pop() ?? "";
  const folder = openTargetFolder(toplevel, names, create);
  try {
    return await work(folder, name);
  } finally {
    folder?.close();
  }
}
