import { type ChangeProblem, changeProblem } from "./change-problem.ts";
import { layoutOf } from "./copy-layout.ts";
import { collisionProblem } from "./judge-changes.ts";
import { isOwned } from "./match-ownership.ts";
import { submoduleMode } from "./place.ts";
import { pathInWorkspace, shownRaw, textOf } from "./raw-path.ts";
import { readTreePaths, type TreeChange } from "./tree-changes.ts";
import type { WorkingCopy } from "./working-copy.ts";

export interface JudgedMerge {
  readonly violations: readonly string[];
  readonly problem: ChangeProblem | undefined;
}

/**
 * Asks of the merged tree what was asked of the child's: a file that the person renamed meanwhile
 * takes the child's change with it, and two children can add names that collide.
 */
export async function judgeMerge(
  copy: WorkingCopy,
  merge: { readonly tree: string; readonly changes: readonly TreeChange[] },
  owns: readonly string[] | undefined,
): Promise<JudgedMerge> {
  const { prefix } = copy.source;
  const shown = (change: TreeChange): string => pathInWorkspace(prefix, shownRaw(change.path));
  const paths = merge.changes.map(shown);
  const violations = owns === undefined ? [] : paths.filter((path) => !isOwned(owns, path));
  return { violations, problem: await findProblem(copy, merge, shown) };
}

async function findProblem(
  copy: WorkingCopy,
  { tree, changes }: { readonly tree: string; readonly changes: readonly TreeChange[] },
  shown: (change: TreeChange) => string,
): Promise<ChangeProblem | undefined> {
  const unreadable = changes.filter(({ path }) => textOf(path) === null);
  if (unreadable.length > 0) return changeProblem("unreadable-name", unreadable.map(shown));
  const isSubmodule = ({ before, after }: TreeChange): boolean =>
    before?.mode === submoduleMode || after?.mode === submoduleMode;
  const submodules = changes.filter(isSubmodule);
  if (submodules.length > 0) return changeProblem("submodule", submodules.map(shown));
  const outside = changes.map(shown).filter((path) => path.startsWith("../"));
  if (outside.length > 0) return changeProblem("outside-workspace", outside);
  const added = changes.filter(({ before }) => before === null);
  if (added.length === 0) return undefined;
  const context = { gitDirectory: layoutOf(copy.home, copy.id).vault };
  const all = (await readTreePaths(context, tree)).map(shownRaw);
  return collisionProblem(
    copy.source.prefix,
    all,
    new Set(added.map(({ path }) => shownRaw(path))),
  );
}
