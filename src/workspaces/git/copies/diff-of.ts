import { runGit } from "../run-git.ts";
import type { CollectedChanges } from "./collect-changes.ts";
import { layoutOf } from "./copy-layout.ts";
import type { WorkingCopy } from "./working-copy.ts";

export interface UnifiedDiff {
  readonly text: string;
  /** Cut off at the limit, at the end of a line. */
  readonly truncated: boolean;
}

/** What a child changed, as people read it. No external diff and no text conversion is run. */
export async function diffOf(
  copy: WorkingCopy,
  changes: CollectedChanges,
  maximumBytes: number = 1024 * 1024,
): Promise<UnifiedDiff> {
  if (changes.tree === copy.baseTree) return { text: "", truncated: false };
  const args = ["diff-tree", "-p", "-r", "--no-ext-diff", "--no-textconv", "--no-color"];
  const { stdout, cut } = await runGit([...args, copy.baseTree, changes.tree], {
    gitDirectory: layoutOf(copy.home, copy.id).vault,
    cutAtMaximum: true,
    maximumBytes,
  });
  const end = cut ? stdout.lastIndexOf(10) + 1 : stdout.length;
  return { text: stdout.toString("utf8", 0, end), truncated: cut };
}
