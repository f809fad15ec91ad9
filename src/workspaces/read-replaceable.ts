import { createHash } from "node:crypto";
import { openFolder } from "./open-folder.ts";
import { openReplaceable } from "./open-replaceable.ts";
import { readWholeFile } from "./read-whole-file.ts";
import { resolveForWriting } from "./resolve-for-writing.ts";
import type { WorkspaceBinding } from "./workspace-binding.ts";

export interface ReplaceableFile {
  /** Relative to the workspace's root, with `/`. */
  readonly path: string;
  /** Null: it has more bytes than were allowed. */
  readonly content: Buffer | null;
  /** SHA-256 of the content; give it to `replaceFile` so that nothing newer is overwritten. */
  readonly hash: string;
  readonly size: number;
}

/**
 * A file that may be replaced, as it is now. Whatever speaks against writing it is said before a
 * byte is read. A file that does not exist is an error of the file system.
 */
export function readReplaceable(
  binding: WorkspaceBinding,
  asked: string,
  maximumBytes: number,
): ReplaceableFile {
  const { existing, missing, file: name } = resolveForWriting(binding, asked);
  if (missing.length > 0) throw notThere(asked);
  const folder = openFolder(binding, existing, asked);
  try {
    const file = openReplaceable(binding, folder, name, asked);
    if (file === undefined) throw notThere(asked);
    try {
      const content = readWholeFile(file.descriptor, maximumBytes);
      const hash = content === null ? "" : createHash("sha256").update(content).digest("hex");
      return { path: file.path, content, hash, size: file.stats.size };
    } finally {
      file.close();
    }
  } finally {
    folder.close();
  }
}

/** In the words of the file system, so that callers tell one kind of error apart, not two. */
function notThere(asked: string): Error {
  return Object.assign(new Error(`"${asked}" does not exist`), { code: "ENOENT" });
}
