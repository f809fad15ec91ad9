import { basename, join } from "node:path";
import { isBelow } from "../contracts/write-roots.ts";
import type { CollectedChanges } from "../workspaces/git/collect-changes.ts";
import { readCopyRecord, type WorkingCopy } from "../workspaces/git/working-copy.ts";

/** The changed paths that the next start would read and obey; `guarded` are absolute places. */
export function guardedChanges(
  copy: WorkingCopy,
  { files }: CollectedChanges,
  guarded: readonly string[],
): readonly string[] {
  const at = join(standsFor(copy.home, copy.source), copy.source.prefix);
  return files
    .map(({ path }) => path)
    .filter((path) => guarded.some((place) => isBelow(join(at, path), place)));
}

/** The folder that a person knows, also where the copy was made of another copy. */
function standsFor(home: string, { kind, toplevel }: WorkingCopy["source"]): string {
  const outer = kind === "copy" ? readCopyRecord(home, basename(toplevel)) : undefined;
  return outer === undefined ? toplevel : standsFor(home, outer.source);
}
