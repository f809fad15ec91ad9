import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { namesIn } from "../../../files.ts";
import { isProcessAlive } from "../../processes/process-start.ts";
import { isBeingRemoved, removeFolder } from "../remove-folder.ts";
import {
  isCopyId,
  layoutOf,
  openWorkingCopy,
  type WorkingCopy,
  worktreesOf,
} from "./working-copy.ts";

/** The ids of all complete working copies that were not discarded. */
export function listWorkingCopies(home: string): readonly string[] {
  return namesIn(join(home, "copies")).filter((name) => isWhole(home, name));
}

function isWhole(home: string, name: string): boolean {
  return isCopyId(name) && existsSync(layoutOf(home, name).record);
}

/**
 * All working copies that can be opened: skips those that are being removed or have an unreadable
 * record.
 */
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
 * Removes what a crash left of copies that were being created, checked or removed, and returns the
 * removed paths. Copies that a live process is creating are skipped.
 */
export async function sweepWorkingCopies(home: string): Promise<readonly string[]> {
  const swept: string[] = [];
  for (const parent of [worktreesOf(home), join(home, "copies")]) {
    for (const name of namesIn(parent)) {
      // In this order, because a copy becomes complete before its creator releases it.
      if (isHeld(home, name) || isWhole(home, name)) continue;
      try {
        await removeFolder(parent, name);
        swept.push(join(parent, name));
      } catch {
        // If one cannot be removed now, the others still are.
      }
    }
  }
  return swept;
}

/** Copies that were made from this one and borrow contents from it. */
export function copiesOf({ home, folder }: WorkingCopy): readonly string[] {
  return openWorkingCopies(home)
    .filter(({ source }) => source.kind === "copy" && source.toplevel === folder)
    .map(({ id }) => id);
}

/** Whether a live process is creating or using the entry with this name. */
export function isHeld(home: string, name: string): boolean {
  if (isBeingRemoved(name)) return true;
  const [copy = "", purpose, ...maker] = name.split(".");
  if (purpose !== undefined) return isProcessAlive(maker.join("."));
  return isCopyId(copy) && isProcessAlive(holderOf(home, copy));
}

/** The process that last took a copy, alive or not. */
export function holderOf(home: string, copy: string): string {
  try {
    return readFileSync(layoutOf(home, copy).holder, "utf8");
  } catch {
    return "";
  }
}
