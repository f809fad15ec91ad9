import { randomBytes } from "node:crypto";
import { lstatSync, readdirSync, renameSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { messageOf } from "../../../ports/message-of.ts";
import { openFolder } from "../../open-folder.ts";
import type { WorkspaceBinding } from "../../workspace-binding.ts";

export interface SetAside {
  readonly place: string;
  /** Its new name; absent when it could not be given one. */
  readonly now?: string;
  readonly problem?: string;
}

/**
 * Gives a place another name, under which nobody obeys it. Nothing is deleted: it may be a person
 * who put it there at this moment. The folder is opened first, since whoever put it there may by
 * now have put a link in the folder's place. Undefined when it is gone.
 */
export function setAside(workspace: WorkspaceBinding, place: string): SetAside | undefined {
  const folder = dirname(place);
  try {
    const opened = openFolder(workspace, folder, place);
    try {
      const name = basename(place);
      const now = `${name}.set-aside-${randomBytes(4).toString("hex")}`;
      renameSync(opened.entry(name), opened.entry(now));
      return { place, now: join(folder, now) };
    } finally {
      opened.close();
    }
  } catch (error) {
    if (lstatSync(place, { throwIfNoEntry: false }) === undefined) return undefined;
    return { place, problem: messageOf(error) };
  }
}

/** Obeyed by nobody: what stands in for something that is not to be created. */
export function isEmptyFolder(place: string): boolean {
  try {
    return lstatSync(place).isDirectory() && readdirSync(place).length === 0;
  } catch {
    return false;
  }
}
