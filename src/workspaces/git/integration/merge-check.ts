import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { identifyThisProcess } from "../../processes/process-start.ts";
import { layoutOf, worktreesOf } from "../copies/copy-layout.ts";
import type { WorkingCopy } from "../copies/working-copy.ts";
import { removeFolder } from "../remove-folder.ts";
import { runGit, withOwnIndex } from "../run-git.ts";

export type CheckVerdict =
  | { readonly passed: true }
  | { readonly passed: false; readonly reason: string };

/**
 * Judges a merged tree that lies in a folder of its own: the workspace's part of it is `root`.
 * Whatever is left in the folder is thrown away.
 */
export type MergeCheck = (merged: {
  readonly folder: string;
  readonly root: string;
}) => Promise<CheckVerdict>;

export async function runMergeCheck(
  copy: WorkingCopy,
  { tree }: { readonly tree: string },
  check: MergeCheck,
): Promise<CheckVerdict> {
  const { vault } = layoutOf(copy.home, copy.id);
  const parent = worktreesOf(copy.home);
  // No id has a dot in it: nobody else's copy has this name, and it says who made it.
  const name = `${copy.id}.merged.${identifyThisProcess()}`;
  await removeFolder(parent, name);
  const folder = join(parent, name);
  try {
    mkdirSync(folder, { mode: 0o700 });
    await withOwnIndex(join(vault, "merged.index"), async (indexFile) => {
      const context = { gitDirectory: vault, workTree: folder, indexFile };
      await runGit(["read-tree", tree], context);
      await runGit(["checkout-index", "--all", "--force"], context);
    });
    return await check({ folder, root: join(folder, copy.source.prefix) });
  } finally {
    await removeFolder(parent, name);
  }
}
