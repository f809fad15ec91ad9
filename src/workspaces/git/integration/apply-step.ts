import { linkSync, lstatSync, readlinkSync, renameSync, rmdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import type { OpenFolder } from "../../open-folder.ts";
import { entryAt } from "../entry-at.ts";
import { isEntry, isSameFile, lookAtFile } from "../look-at-file.ts";
import type { IntegrationJournal, IntegrationStep } from "./integration-journal.ts";
import { openTargetFolder, withFolderOf } from "./open-target-folder.ts";
import { stagingFolders } from "./stage-integration.ts";

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
