import { join, relative } from "node:path";
import { gitDirectoryAround } from "../../protected/git-directory.ts";
import { type ChangeProblem, changeProblem } from "../copies/change-problem.ts";
import { layoutOf } from "../copies/copy-layout.ts";
import { collisionProblem, leadsOutside } from "../copies/judge-changes.ts";
import type { WorkingCopy } from "../copies/working-copy.ts";
import { embeddedProblem } from "../embedded-repositories.ts";
import type { GitContext } from "../git-environment.ts";
import { linkMode, submoduleMode } from "../place.ts";
import { pathInWorkspace, shownRaw, textOf } from "../raw-path.ts";
import { readLinks } from "../read-links.ts";
import { readTreePaths, type TreeChange } from "../tree-changes.ts";
import { isOwned } from "./match-ownership.ts";

export interface JudgedMerge {
  readonly violations: readonly string[];
  readonly problem: ChangeProblem | undefined;
  /** What changes, relative to the workspace. */
  readonly paths: readonly string[];
}

/**
 * Asks of the merged tree what was asked of the child's: a file that the person renamed meanwhile
 * takes the child's change with it, and two children can add names that collide, or together make
 * what neither could make alone.
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
  return { violations, problem: await findProblem(copy, merge, shown), paths };
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
  const context = { gitDirectory: layoutOf(copy.home, copy.id).vault };
  const escaping = await findEscapingLinks(context, copy.source.prefix, changes);
  if (escaping.length > 0) return changeProblem("escaping-link", escaping.map(shown));
  const present = changes.filter(({ after }) => after !== null);
  if (present.length === 0) return undefined;
  const all = (await readTreePaths(context, tree)).map(shownRaw);
  const embedded = embeddedProblem(copy.source.prefix, all, present);
  if (embedded !== undefined) return embedded;
  // In the folder itself: empty and ignored folders are in no tree.
  const { prefix, toplevel } = copy.source;
  const arriving = present.map(({ path }) => join(toplevel, shownRaw(path)));
  const around = gitDirectoryAround(toplevel, arriving);
  if (around !== undefined) {
    const folder = pathInWorkspace(prefix, relative(toplevel, around)) || ".";
    return changeProblem("embedded-repository", [folder]);
  }
  const added = present.filter(({ before }) => before === null);
  return collisionProblem(
    copy.source.prefix,
    all,
    new Set(added.map(({ path }) => shownRaw(path))),
  );
}

/** A link that moved with a rename leads elsewhere from there. */
async function findEscapingLinks(
  context: GitContext,
  prefix: string,
  changes: readonly TreeChange[],
): Promise<readonly TreeChange[]> {
  const links = changes.filter(({ after }) => after?.mode === linkMode);
  const targets = await readLinks(
    context,
    links.flatMap(({ after }) => after?.object ?? []),
  );
  return links.filter(({ path, after }) => {
    const target = targets.get(after?.object ?? "");
    return target === undefined || leadsOutside(prefix, shownRaw(path), target);
  });
}
