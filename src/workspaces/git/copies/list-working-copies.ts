import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isProcessAlive } from "../process-identity.ts";
import { isBeingRemoved, removeFolder } from "../remove-folder.ts";
import { layoutOf, worktreesOf } from "./copy-layout.ts";
import { readCopyRecord, type WorkingCopy } from "./working-copy.ts";

const id = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;

/** The ids of all working copies that were made and not discarded. */
export function listWorkingCopies(home: string): readonly string[] {
  return names(join(home, "copies")).filter(
    (name) => id.test(name) && existsSync(layoutOf(home, name).record),
  );
}

/**
 * Removes what a crash left of copies that were being made, checked or removed, and says what it
 * was. What a living process is making is left alone.
 */
export async function sweepWorkingCopies(home: string): Promise<readonly string[]> {
  const copies = new Set(listWorkingCopies(home));
  const swept: string[] = [];
  for (const parent of [worktreesOf(home), join(home, "copies")]) {
    for (const name of names(parent)) {
      if (copies.has(name) || isHeld(home, name)) continue;
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
  return listWorkingCopies(home).filter((each) => {
    const source = readCopyRecord(home, each)?.source;
    return source?.kind === "copy" && source.toplevel === folder;
  });
}

/** Whether a process that is still there makes, or works with, what bears this name. */
export function isHeld(home: string, name: string): boolean {
  if (isBeingRemoved(name)) return true;
  const [copy = "", merged, ...holder] = name.split(".");
  if (merged === "merged") return isProcessAlive(holder.join("."));
  if (!id.test(copy) || merged !== undefined) return false;
  return isProcessAlive(holderOf(home, copy));
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
