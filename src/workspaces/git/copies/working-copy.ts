import { createHash } from "node:crypto";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import { z } from "zod";
import { writeDurablySync } from "../../../files.ts";
import { MandateError } from "../../../ports/mandate-error.ts";
import { identifyThisProcess } from "../../processes/process-start.ts";
import { RepositoryRefused } from "../git-failure.ts";

/** A part of the source that the copy does not have, and why. */
export interface Omission {
  readonly path: string;
  readonly reason: "nested-repository" | "submodule" | "too-large";
}

/** A child's own copy of a workspace. */
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

/**
 * The files of a working copy below MANDATE_HOME. Only `folder` is the child's; all others belong
 * to the runtime, out of the child's reach: the vault (a bare repository), the indexes, and the
 * record of what the copy was made from.
 */
interface CopyLayout {
  readonly folder: string;
  readonly own: string;
  readonly record: string;
  /** The process that creates the copy or works with it: no other process sweeps it away. */
  readonly holder: string;
  readonly vault: string;
  /** The state of the copied place when it was last read. */
  readonly sourceIndex: string;
  /** The state of the copy when it was last read. */
  readonly copyIndex: string;
  readonly outcome: string;
  readonly journal: string;
}

const idPattern = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;

export function isCopyId(name: string): boolean {
  return idPattern.test(name);
}

export function layoutOf(home: string, id: string): CopyLayout {
  if (!isCopyId(id)) {
    throw new MandateError(
      "usage",
      `"${id}" is not a valid id of a working copy: use letters, digits, "-" and "_", at most 64.`,
    );
  }
  const own = join(home, "copies", id);
  return {
    folder: join(worktreesOf(home), id),
    own,
    record: join(own, "copy.json"),
    holder: join(own, "holder"),
    vault: join(own, "vault.git"),
    sourceIndex: join(own, "source.index"),
    copyIndex: join(own, "copy.index"),
    outcome: join(own, "outcome.json"),
    journal: join(journalsOf(home), `${id}.json`),
  };
}

export function worktreesOf(home: string): string {
  return join(home, "worktrees");
}

export function journalsOf(home: string): string {
  return join(home, "integrations");
}

/** The folder for the locks of one place; its name is a hash. */
export function lockFolderOf(home: string, toplevel: string, purpose: string): string {
  const name = createHash("sha256").update(toplevel).digest("hex").slice(0, 24);
  return join(home, "locks", `${name}.${purpose}`);
}

export function refOf(id: string): string {
  return `refs/mandate/${id}`;
}

/**
 * Copies an index with its time. Git compares whole seconds and reads a file again when the file is
 * not older than the index. With a later time, git would miss an edit of the same length that was
 * made in the second in which the index was written.
 */
export function copyIndex(from: string, to: string): void {
  const seconds = Math.floor(statSync(from).mtimeMs / 1000);
  copyFileSync(from, to);
  utimesSync(to, seconds, seconds);
}

/**
 * The claim under which work was last done in this copy. Several machines can have a copy with the
 * same id; the log has the latest claim, so each machine knows whether its copy is current.
 */
export function readClaim(home: string, id: string): number {
  const place = placeOf(home, id);
  if (!existsSync(place)) return 0;
  const fence = Number(readFileSync(place, "utf8"));
  return Number.isSafeInteger(fence) ? fence : 0;
}

export function noteClaim(home: string, id: string, fence: number): void {
  writeDurablySync(placeOf(home, id), String(fence));
}

function placeOf(home: string, id: string): string {
  return join(layoutOf(home, id).own, "claim");
}

/**
 * Creates the runtime's folder of a new copy with its holder file in it from the beginning, because
 * any starting process removes folders without a holder.
 */
export function beginCopy(home: string, id: string): void {
  const { holder, own } = layoutOf(home, id);
  const me = identifyThisProcess();
  const making = `${own}.making.${me}`;
  mkdirSync(making, { recursive: true, mode: 0o700 });
  writeFileSync(join(making, basename(holder)), me, { mode: 0o600 });
  renameSync(making, own);
}

/** Limits for copying a workspace and for merging a child's changes. */
export interface CopyLimits {
  readonly maximumFiles: number;
  readonly maximumBytes: number;
  /** For an untracked file of the source, and for each file that a child changed. */
  readonly maximumFileBytes: number;
}

const mebibyte = 1024 * 1024;

export const copyLimits: CopyLimits = {
  maximumFiles: 200_000,
  maximumBytes: 4096 * mebibyte,
  maximumFileBytes: 256 * mebibyte,
};

export const changeLimits: CopyLimits = {
  maximumFiles: 20_000,
  maximumBytes: 1024 * mebibyte,
  maximumFileBytes: 64 * mebibyte,
};
