import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isProcessAlive } from "../../processes/process-start.ts";
import { isBeingRemoved, removeFolder } from "../remove-folder.ts";
import {
  isCopyId,
  layoutOf,
  openWorkingCopy,
  type WorkingCopy,
  worktreesOf,
} from "./working-copy.ts";

/** The ids of all working copies that were made and not discarded. */
export function listWorkingCopies(home: string): readonly string[] {
  return names(join(home, "copies")).filter((name) => isWhole(home, name));
}

function isWhole(home: string, name: string): boolean {
  return isCopyId(name) && existsSync(layoutOf(home, name).record);
}

/** Without those that somebody removes meanwhile, or whose record nobody can read. */
export function openWorkingCopies(home: string): readonly WorkingCopy[] {
  return listWorkingCopies(home).flatMap((id) => {
    try {
      return [openWorkingCopy(home, id)];
    } catch {
      return [];
    }
  });
}

/**
 * Removes what a crash left of copies that were being made, checked or removed, and says what it
 * was. What a living process is making is left alone.
 */
export async function sweepWorkingCopies(home: string): Promise<readonly string[]> {
  const swept: string[] = [];
  for (const parent of [worktreesOf(home), join(home, "copies")]) {
    for (const name of names(parent)) {
      // In this order: whoever makes one lets go of it after it has become whole.
      if (isHeld(home, name) || isWhole(home, name)) continue;
      try {
        await removeFolder(parent, name);
        swept.push(join(parent, name));
      } catch {
        // One that cannot be removed now must not keep the others, and all that waits for this.
      }
    }
  }
  return swept;
}

/** Copies that were made of this one, and borrow contents from it. */
export function copiesOf({ home, folder }: WorkingCopy): readonly string[] {
  return openWorkingCopies(home)
    .filter(({ source }) => source.kind === "copy" && source.toplevel === folder)
    .map(({ id }) => id);
}

/** Whether a process that is still there makes, or works with, what bears this name. */
export function isHeld(home: string, name: string): boolean {
  if (isBeingRemoved(name)) return true;
  const [copy = "", purpose, ...maker] = name.split(".");
  if (purpose !== undefined) return isProcessAlive(maker.join("."));
  return isCopyId(copy) && isProcessAlive(holderOf(home, copy));
}

/** The process that last took hold of a copy, whether it is still there or not. */
export function holderOf(home: string, copy: string): string {
  try {
    return readFileSync(layoutOf(home, copy).holder, "utf8");
  } catch {
    return "";
  }
}

function names(folder: string): readonly string[] {
  return existsSync(folder) ? readdirSync(folder).sort() : [];
}
