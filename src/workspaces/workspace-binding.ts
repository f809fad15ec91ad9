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
