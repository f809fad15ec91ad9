export type ObjectFormat = "sha1" | "sha256";

interface CommonPlace {
  /** Absolute, links resolved: the folder that a working copy is a copy of. */
  readonly toplevel: string;
  /** Where the workspace lies in it, with `/` and without one at the end; "" for all of it. */
  readonly prefix: string;
  readonly objectFormat: ObjectFormat;
  /** Object folders whose content a copy can borrow instead of holding it again. */
  readonly objects: readonly string[];
  /** The commits at which history was cut off, as git's `shallow` file lists them. */
  readonly shallow: string;
  /** The commit that work is on; null before the first one, and where there are none. */
  readonly head: string | null;
}

/** A repository of the person: read, never run, and written only by an integration. */
export interface GitPlace extends CommonPlace {
  readonly kind: "git";
  readonly gitDirectory: string;
  /** The full name of the branch; null when HEAD is detached. */
  readonly branch: string | null;
}

/** A folder without git. */
export interface FolderPlace extends CommonPlace {
  readonly kind: "folder";
}

/**
 * A working copy of ours that a child delegates from. The `.git` in it belongs to that child and is
 * never read; what is tracked there is what the runtime's own index says.
 */
export interface CopyPlace extends CommonPlace {
  readonly kind: "copy";
  readonly copyId: string;
}

export type Place = GitPlace | FolderPlace | CopyPlace;

export interface TrackedEntry {
  readonly mode: string;
  readonly object: string;
  /** As git writes it; see `RawPath`. */
  readonly path: string;
}

export const linkMode = "120000";
export const submoduleMode = "160000";
export const executableMode = "100755";
