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

/** Called after each thing that was done and would be found by a recovery. */
export type StepObserver = (what: string) => void;

/**
 * Brings one path from its old to its new state, from wherever a crash left it. The old file is
 * moved aside first and the new one linked in after it, which fails if anything has come to be
 * there: between the two the path is empty for some microseconds, but an edit of the person, made
 * at whatever moment, is never overwritten. False: something else is there, and stays.
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

/** The way back. False: the path was changed by somebody else since, and stays as it is. */
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
      // Without the old content there is nothing to go back to.
      if (before !== null && !isKept) return false;
      renameSync(place, join(folders.undone, String(index)));
      observe(`took ${path} back`);
      return before === null || putIn(folder, name, kept);
    }
    if (now.kind === "nothing" && isKept) return putIn(folder, name, kept);
    return isEntry(now, before);
  });
}

/** Only where there is nothing. The staged file keeps its name until everything is done. */
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
    // Some file systems have no second names. Then the look before the rename has to do.
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
 * Opens a folder of the person's files, name by name, each inside the one before it: a link on the
 * way is not followed, and a folder that was moved meanwhile is found out. Undefined when there is
 * no such folder, or something else has its name.
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
    // Another place below the same root is not good enough: this is where one file belongs.
    if (folder.path === join(toplevel, ...names.slice(0, index + 1))) continue;
    folder.close();
    return undefined;
  }
  return folder;
}

/** A folder that root makes belongs to the owner of the folder above. */
function makeOwnFolder(path: string): void {
  if (!makeFolder(path) || process.geteuid?.() !== 0) return;
  const { uid, gid } = statSync(dirname(path));
  // Not what a link leads to that was put there since.
  lchownSync(path, uid, gid);
}

function isMissing(error: unknown): boolean {
  const { code = "" } = error as NodeJS.ErrnoException;
  return ["ENOENT", "ENOTDIR", "ELOOP"].includes(code);
}

/** Works in the folder of a path; `undefined` for the folder when there is none. */
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
