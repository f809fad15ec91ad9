import { hashContents } from "../hash-contents.ts";
import { executableMode, linkMode } from "../place.ts";
import { pathInWorkspace, shownRaw } from "../raw-path.ts";
import type { TreeChange } from "../tree-changes.ts";

export interface ChangedFile {
  /** Relative to the workspace, with `/`. */
  readonly path: string;
  /** SHA-256 of the content in the base; null: there was no file. */
  readonly before: string | null;
  /** SHA-256 of the content now; null: it is gone. */
  readonly after: string | null;
  /** What it is now; what it was, when it is gone. A link's content is where it points. */
  readonly mode: "file" | "executable" | "link";
}

/** The words of the log for what git calls modes and objects. */
export async function describeFiles(
  vault: string,
  prefix: string,
  changes: readonly TreeChange[],
): Promise<readonly ChangedFile[]> {
  const objects = changes.flatMap(({ before, after }) => [before, after]);
  const hashes = await hashContents(
    vault,
    objects.flatMap((entry) => (entry === null ? [] : [entry.object])),
  );
  return changes.map(({ path, before, after }) => ({
    path: pathInWorkspace(prefix, shownRaw(path)),
    before: before === null ? null : (hashes.get(before.object) ?? null),
    after: after === null ? null : (hashes.get(after.object) ?? null),
    mode: wordOf((after ?? before)?.mode ?? ""),
  }));
}

function wordOf(mode: string): ChangedFile["mode"] {
  if (mode === linkMode) return "link";
  return mode === executableMode ? "executable" : "file";
}
