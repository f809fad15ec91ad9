import { isUtf8 } from "node:buffer";
import { randomBytes } from "node:crypto";
import { lstatSync, readdirSync, renameSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { messageOf } from "../../../ports/message-of.ts";
import { stripHidden } from "../../../ports/visible-text.ts";
import { openFolder } from "../../open-folder.ts";
import { gitDirectoryName } from "../../protected/git-directory.ts";
import type { Boundary } from "../../resolve-inside.ts";
import { makeReadable } from "./make-readable.ts";

export interface SetAside {
  readonly place: string;
  /** Its new name; absent when it could not be given one. */
  readonly now?: string;
  readonly problem?: string;
}

/**
 * Gives a place another name, under which no program obeys it. Nothing is deleted: a person may
 * have put it there at this moment. The folder is opened first, since a link may be in the
 * folder's place by now. Undefined when it is gone.
 */
export function setAside(workspace: Boundary, place: string): SetAside | undefined {
  try {
    return rename(workspace, place);
  } catch (error) {
    if (isGone(place)) return undefined;
    return { place, problem: messageOf(error) };
  }
}

/** Takes from a folder what makes git take it for a repository: without its HEAD it is a folder. */
export function setRepositoryAside(workspace: Boundary, folder: string): SetAside | undefined {
  try {
    const name = readdirSync(folder, { withFileTypes: true }).find(
      (entry) => gitDirectoryName(entry.name, entry.isDirectory()) === "HEAD",
    )?.name;
    const aside = name === undefined ? undefined : setAside(workspace, join(folder, name));
    return aside && { ...aside, place: folder };
  } catch (error) {
    return isGone(folder) ? undefined : { place: folder, problem: messageOf(error) };
  }
}

function rename(workspace: Boundary, place: string): SetAside {
  const folder = dirname(place);
  const name = basename(place);
  const now = asideName(name);
  const opened = openFolder(workspace, folder, place);
  try {
    renameSync(opened.entry(name), opened.entry(now));
  } catch (error) {
    // A command may have closed the folder so that this fails; a folder is only moved if it can
    // be written itself.
    const isOpened = makeReadable(opened.path);
    makeReadable(place);
    if (!isOpened) throw error;
    renameSync(opened.entry(name), opened.entry(now));
  } finally {
    opened.close();
  }
  return { place, now: join(folder, now) };
}

/**
 * Gives the folders of a folder whose names are no text names that are: only so can they be looked
 * into and mounted. A link is not followed.
 */
export function renameUnreadable(workspace: Boundary, folder: string): readonly SetAside[] {
  makeReadable(folder);
  try {
    return renameAll(workspace, folder);
  } catch (error) {
    return isGone(folder) ? [] : [{ place: folder, problem: messageOf(error) }];
  }
}

function renameAll(workspace: Boundary, folder: string): readonly SetAside[] {
  const opened = openFolder(workspace, folder, folder);
  try {
    const entries = readdirSync(opened.here, { withFileTypes: true, encoding: "buffer" });
    return entries
      .filter((entry) => entry.isDirectory() && !isUtf8(entry.name))
      .map(({ name }) => {
        const now = asideName(name.toString("latin1").replace(/[^ -~]/g, "_"));
        renameSync(Buffer.concat([Buffer.from(`${opened.here}/`), name]), opened.entry(now));
        return { place: join(folder, name.toString("utf8")), now: join(folder, now) };
      });
  } finally {
    opened.close();
  }
}

/** Short enough to be a name, and one that people can read, whatever the old one was. */
function asideName(name: string): string {
  const visible = stripHidden(name.slice(0, 48)).replaceAll(/[\t\n]/g, "_");
  return `${visible}.set-aside-${randomBytes(4).toString("hex")}`;
}

function isGone(place: string): boolean {
  try {
    return lstatSync(place, { throwIfNoEntry: false }) === undefined;
  } catch {
    return false;
  }
}

/** No program obeys an empty folder: a command has one in the place of what it must not create. */
export function isEmptyFolder(place: string): boolean {
  try {
    return lstatSync(place).isDirectory() && readdirSync(place).length === 0;
  } catch {
    return false;
  }
}
