/**
 * Workspaces: which paths a delegation may read and write, the sandbox of its commands, the programs
 * that Mandate starts, and working copies with their merge. This file computes the boundary of one
 * delegation. The folder may import contracts, events and ports.
 */
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
  /** The path of the workspace root below the folder that the patterns are relative to. */
  readonly below: string;
}

/**
 * Where a delegation works, computed from its contract and passed explicitly. There is no current
 * folder and no global state about the current agent.
 */
export interface WorkspaceBinding {
  /** The absolute path of the folder, with links resolved. */
  readonly root: string;
  readonly isolation: "shared" | "sandbox" | "custom";
  readonly allowWrites: boolean;
  /** Absolute folders, at or below `root`, in which files may be written. */
  readonly writeRoots: readonly string[];
  /** Absolute folders below `root` that can be neither read nor written: Mandate's own. */
  readonly forbidden?: readonly string[];
  /**
   * Absolute files and folders that can be read but not written, because the next start obeys them.
   */
  readonly guarded?: readonly string[];
  /**
   * The paths that the delegation may change, for it and for each ancestor that owns a part;
   * absent: all.
   */
  readonly owned?: readonly Ownership[];
  /**
   * Absolute folders elsewhere that commands can read: the git objects that a working copy borrows.
   */
  readonly visible?: readonly string[];
}

export interface WorkspaceRequest {
  readonly root: string;
  readonly isolation: WorkspaceBinding["isolation"];
  readonly allowWrites: boolean;
  /** Absolute, or relative to the root; absent: all of it. */
  readonly writeRoots?: readonly string[];
  /** Folders that stay inaccessible even if they are below the root: above all MANDATE_HOME. */
  readonly forbidden?: readonly string[];
  /**
   * Paths that may be read but not written: configuration and profiles, and the targets of links to
   * them.
   */
  readonly guarded?: readonly string[];
  /** Working copies are inside a forbidden folder; roots below this folder are allowed. */
  readonly workingCopies?: string;
  /** Folders elsewhere that commands can read. */
  readonly visible?: readonly string[];
  readonly owned?: readonly Ownership[];
}

/**
 * Resolves all links once, so that later comparisons are between real paths. Refuses a request that
 * cannot be honoured: a binding is never wider than the request.
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
      `The workspace "${request.root}" is inside "${surrounding}", where Mandate keeps its own ` +
        "data. Choose a folder outside it.",
    );
  }
  return Object.freeze({
    root,
    isolation: request.isolation,
    allowWrites: request.allowWrites,
    writeRoots: request.allowWrites ? realWriteRoots(root, request.writeRoots) : [],
    // If the root is inside a forbidden folder, that folder has no effect inside the root.
    forbidden: forbidden.filter((folder) => !isBelow(root, folder)),
    guarded: [
      ...(request.guarded ?? []).map((place) => guardedPlace(resolve(place))),
      ...(request.allowWrites ? linkedPlaces(root) : []),
    ],
    ...(request.visible && request.visible.length > 0 && { visible: request.visible }),
    ...(request.owned && request.owned.length > 0 && { owned: request.owned }),
  });
}

/** A link loop, or a folder without permission, is guarded at its own path. */
function guardedPlace(place: string): string {
  try {
    return nearestRealPath(place).path;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ELOOP" && code !== "EACCES") throw error;
    return join(guardedPlace(dirname(place)), basename(place));
  }
}

/** The real path of an existing folder; throws a `MandateError` otherwise. */
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
      `The write root "${folder}" is outside the workspace "${root}". Name folders below it.`,
    );
  });
  return intersectRoots([root], real);
}
