import { readFileSync, realpathSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { isBelow } from "../../../contracts/write-roots.ts";
import type { CopyPlace, TrackedEntry } from "../place.ts";
import { readTracked } from "../read-tracked.ts";
import { layoutOf, worktreesOf } from "./copy-layout.ts";
import { readCopyRecord } from "./working-copy.ts";

export interface FoundCopy {
  readonly place: CopyPlace;
  readonly tracked: readonly TrackedEntry[];
  readonly ignoreRules: string;
}

/** A folder inside one of our working copies, from which its child delegates in turn. */
export async function copyPlaceAt(folder: string, home: string): Promise<FoundCopy | undefined> {
  const worktrees = realOrUndefined(worktreesOf(home));
  if (worktrees === undefined || folder === worktrees || !isBelow(folder, worktrees)) return;
  const [copyId = "", ...rest] = relative(worktrees, folder).split(sep);
  const record = readCopyRecord(home, copyId);
  if (record === undefined) return undefined;
  const layout = layoutOf(home, copyId);
  const { entries } = await readTracked({
    gitDirectory: layout.vault,
    indexFile: layout.copyIndex,
  });
  const { objectFormat, borrowed, shallow, head } = record;
  return {
    place: {
      ...{ kind: "copy", copyId, objectFormat, shallow, head, objects: borrowed },
      toplevel: join(worktrees, copyId),
      prefix: rest.join("/"),
    },
    tracked: entries,
    ignoreRules: readFileSync(join(layout.vault, "info", "exclude"), "utf8"),
  };
}

function realOrUndefined(path: string): string | undefined {
  try {
    return realpathSync.native(path);
  } catch {
    return undefined;
  }
}
