import { realpathSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { intersectRoots, isBelow } from "../contracts/write-roots.ts";
import { MandateError } from "../ports/mandate-error.ts";
import { noteWorkspace } from "./processes/agent-folders.ts";
import { linkedPlaces } from "./protected/protection.ts";
import { nearestRealPath } from "./resolve-inside.ts";

/** Patterns that every changed path must match. */
export interface Ownership {
  readonly patterns: readonly string[];
  /** The path of the binding's root below the folder that the patterns are relative to. */
  readonly below: string;
}

/**
 * Where a delegation works: computed for each delegation from its contract and passed explicitly.
 * There is no current folder and no global that says whose turn it is.
 */
export interface WorkspaceBinding {
  /** Absolute, links resolved. */
  readonly root: string;
  readonly isolation: "shared" | "sandbox" | "custom";
  readonly allowWrites: boolean;
  /** Absolute folders, at or below `root`, in which files may be written. */
  readonly writeRoots: readonly string[];
  /** Absolute folders below `root` that can be neither read nor written: the runtime's own. */
  readonly forbidden?: readonly string[];
  /** Absolute files and folders that can be read and not written: what the next start obeys. */
  readonly guarded?: readonly string[];
  /** What may be changed, for the delegation and for those above it that own a part; absent: all. */
  readonly owned?: readonly Ownership[];
  /** Absolute folders elsewhere that commands can read: the objects that a copy borrows. */
  readonly visible?: readonly string[];
}

export interface WorkspaceRequest {
  readonly root: string;
  readonly isolation: WorkspaceBinding["isolation"];
  readonly allowWrites: boolean;
  /** Absolute, or relative to the root; absent: all of it. */
  readonly writeRoots?: readonly string[];
  /** Folders that stay out of reach although they may lie below the root: MANDATE_HOME above all. */
  readonly forbidden?: readonly string[];
  /** What may be read and not written: configuration and profiles, wherever links lead to them. */
  readonly guarded?: readonly string[];
  /** The runtime's own working copies lie inside a forbidden folder; roots below this one may. */
  readonly workingCopies?: string;
  /** Folders elsewhere that commands can read. */
  readonly visible?: readonly string[];
  readonly owned?: readonly Ownership[];
}

/**
 * Resolves every link once, so that each later comparison is between real places. Whatever cannot
 * be honoured is refused here: a binding is never wider than what was asked for.
 */
export function bindWorkspace(request: WorkspaceRequest): WorkspaceBinding {
  const root = realFolder(request.root);
  noteWorkspace(root);
  const forbidden = (request.forbidden ?? []).map(
    (folder) => nearestRealPath(resolve(folder)).path,
  );
  const surrounding = forbidden.find((folder) => isBelow(root, folder));
  if (surrounding !== undefined && !isWorkingCopy(root, request.workingCopies)) {
    throw new MandateError(
      "usage",
      `The workspace "${request.root}" lies inside "${surrounding}", where Mandate keeps its own ` +
        "data. Choose a folder outside it.",
    );
  }
  return Object.freeze({
    root,
    isolation: request.isolation,
    allowWrites: request.allowWrites,
    writeRoots: request.allowWrites ? realWriteRoots(root, request.writeRoots) : [],
    // A folder that contains the root is closed by the root itself.
    forbidden: forbidden.filter((folder) => !isBelow(root, folder)),
    guarded: [
      ...(request.guarded ?? []).map((place) => guardedPlace(resolve(place))),
      ...(request.allowWrites ? linkedPlaces(root) : []),
    ],
    ...(request.visible && request.visible.length > 0 && { visible: request.visible }),
    ...(request.owned && request.owned.length > 0 && { owned: request.owned }),
  });
}

/** A link that leads in a circle, or a folder without permission, is guarded where it is. */
function guardedPlace(place: string): string {
  try {
    return nearestRealPath(place).path;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ELOOP" && code !== "EACCES") throw error;
    return join(guardedPlace(dirname(place)), basename(place));
  }
}

/** The real path of a folder that exists; throws a sentence for people otherwise. */
export function realFolder(path: string): string {
  let root: string;
  try {
    root = realpathSync.native(resolve(path));
    if (statSync(root).isDirectory()) return root;
  } catch (cause) {
    throw new MandateError(
      "usage",
      `The workspace "${path}" does not exist or cannot be opened. Create the folder first, or ` +
        "choose another one.",
      { cause },
    );
  }
  throw new MandateError("usage", `The workspace "${path}" is a file. Choose a folder.`);
}

function isWorkingCopy(root: string, workingCopies: string | undefined): boolean {
  if (workingCopies === undefined) return false;
  const folder = nearestRealPath(resolve(workingCopies)).path;
  return root !== folder && isBelow(root, folder);
}

function realWriteRoots(root: string, asked: readonly string[] | undefined): readonly string[] {
  if (asked === undefined) return [root];
  const real = asked.map((folder) => {
    const place = nearestRealPath(resolve(root, folder)).path;
    if (isBelow(place, root) || isBelow(root, place)) return place;
    throw new MandateError(
      "refused-by-policy",
      `The write root "${folder}" lies outside the workspace "${root}". Name folders below it.`,
    );
  });
  return intersectRoots([root], real);
}
