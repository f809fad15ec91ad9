import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { layoutOf, worktreesOf } from "./copy-layout.ts";
import { removeFolder } from "./remove-folder.ts";

const id = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;

/** The ids of all working copies that were made and not discarded. */
export function listWorkingCopies(home: string): readonly string[] {
  return names(join(home, "copies")).filter(
    (name) => id.test(name) && existsSync(layoutOf(home, name).record),
  );
}

/**
 * Removes what a crash left of copies that were being made, checked or removed, and says what it
 * was. Only while no other process makes or removes copies below the same home.
 */
export async function sweepWorkingCopies(home: string): Promise<readonly string[]> {
  const copies = new Set(listWorkingCopies(home));
  const swept: string[] = [];
  for (const parent of [worktreesOf(home), join(home, "copies")]) {
    for (const name of names(parent)) {
      if (copies.has(name)) continue;
      await removeFolder(parent, name);
      swept.push(join(parent, name));
    }
  }
  return swept;
}

function names(folder: string): readonly string[] {
  return existsSync(folder) ? readdirSync(folder).sort() : [];
}
