import { readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { RepositoryRefused } from "../git-failure.ts";
import { layoutOf } from "./copy-layout.ts";

/** A part of the source that the copy does not have, and why. */
export interface Omission {
  readonly path: string;
  readonly reason: "nested-repository" | "submodule" | "too-large";
}

/** One child's own copy of a workspace. */
export interface WorkingCopy {
  readonly id: string;
  /** MANDATE_HOME, links resolved. */
  readonly home: string;
  /** The copy of the whole repository or folder; the child's `.git` is in it. */
  readonly folder: string;
  /** The copy of the workspace: `folder`, or a part of it. */
  readonly root: string;
  /**
   * The copied folder, and the path of the workspace in it. `elsewhere`: that folder is on another
   * machine, and `toplevel` is only its name.
   */
  readonly source: {
    readonly kind: "git" | "folder" | "copy" | "elsewhere";
    readonly toplevel: string;
    readonly prefix: string;
  };
  /** The caller's commit; null before the first commit. */
  readonly head: string | null;
  /** The commit from which the child starts: `head` with the caller's uncommitted changes. */
  readonly base: string;
  readonly baseTree: string;
  /** Whether `base` holds changes that `head` does not. */
  readonly dirty: boolean;
  /** Object folders that git inside the copy reads and must not write. */
  readonly objects: readonly string[];
  readonly omitted: readonly Omission[];
}

const hash = z.string().regex(/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/);

const schema = z.strictObject({
  version: z.literal(1),
  id: z.string(),
  source: z.strictObject({
    kind: z.enum(["git", "folder", "copy", "elsewhere"]),
    toplevel: z.string(),
    prefix: z.string(),
  }),
  head: hash.nullable(),
  base: hash,
  baseTree: hash,
  dirty: z.boolean(),
  /** Object folders without the vault; a copy of this copy borrows from them as well. */
  borrowed: z.array(z.string()),
  objectFormat: z.enum(["sha1", "sha256"]),
  shallow: z.string(),
  omitted: z.array(
    z.strictObject({
      path: z.string(),
      reason: z.enum(["nested-repository", "submodule", "too-large"]),
    }),
  ),
});

export type CopyRecord = z.infer<typeof schema>;

export function readCopyRecord(home: string, id: string): CopyRecord | undefined {
  let text: string;
  try {
    text = readFileSync(layoutOf(home, id).record, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  return schema.parse(JSON.parse(text));
}

/** Opens an existing copy. */
export function openWorkingCopy(home: string, id: string): WorkingCopy {
  const record = readCopyRecord(home, id);
  if (record !== undefined) return workingCopyOf(home, record);
  throw new RepositoryRefused({
    code: "copy-unknown",
    sentence: `There is no working copy "${id}". It was never made, or it has been discarded.`,
  });
}

export function workingCopyOf(home: string, record: CopyRecord): WorkingCopy {
  const layout = layoutOf(home, record.id);
  const { id, source, head, base, baseTree, dirty, omitted } = record;
  return {
    ...{ id, home, source, head, base, baseTree, dirty, omitted },
    folder: layout.folder,
    root: join(layout.folder, source.prefix),
    objects: [join(layout.vault, "objects"), ...record.borrowed],
  };
}
