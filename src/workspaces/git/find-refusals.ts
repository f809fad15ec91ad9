import { existsSync } from "node:fs";
import { join } from "node:path";
import { ignoresCase } from "./copies/case-collisions.ts";
import type { DiscoveredRepository } from "./discover-repository.ts";
import { shownRaw } from "./raw-path.ts";
import type { TrackedFiles } from "./read-tracked.ts";
import { namesOf, type RepositoryRefusal } from "./repository-refusal.ts";

/** What speaks against taking a copy of a repository, or merging into it, as it is now. */
export function findRefusals(
  repository: DiscoveredRepository,
  tracked: TrackedFiles,
  caseCollisions: readonly (readonly string[])[],
  home: string,
): readonly RepositoryRefusal[] {
  const refusals: RepositoryRefusal[] = [];
  const where = `The repository "${repository.toplevel}"`;
  const add = (code: RepositoryRefusal["code"], rest: string, paths?: readonly string[]): void => {
    refusals.push({ code, sentence: `${where} ${rest}`, ...(paths && { paths }) });
  };
  if (existsSync(`${repository.index}.lock`)) {
    add(
      "locked",
      "is being changed by another git command (index.lock exists). Wait for it; if none runs, remove that file.",
    );
  }
  const operation = operationIn(repository.gitDirectory);
  if (operation !== undefined || tracked.unmerged.length > 0) {
    const what = operation ?? "merge";
    add(
      "operation-in-progress",
      `is in the middle of a ${what}. Finish or abort it first.`,
      tracked.unmerged.map(shownRaw),
    );
  }
  if (tracked.sparse.length > 0) {
    add(
      "sparse-checkout",
      "is checked out in part only (sparse checkout). Run git sparse-checkout disable, or use a full clone.",
    );
  }
  const collisions = caseCollisions.flat();
  if (collisions.length > 0 && (ignoresCase(home) || ignoresCase(repository.toplevel))) {
    add(
      "case-collision",
      `has names that this file system cannot tell apart: ${namesOf(collisions)}. Rename them.`,
      collisions,
    );
  }
  return refusals;
}

const operations: readonly (readonly [string, string])[] = [
  ["MERGE_HEAD", "merge"],
  ["rebase-merge", "rebase"],
  ["rebase-apply", "rebase"],
  ["CHERRY_PICK_HEAD", "cherry-pick"],
  ["REVERT_HEAD", "revert"],
];

function operationIn(gitDirectory: string): string | undefined {
  return operations.find(([name]) => existsSync(join(gitDirectory, name)))?.[1];
}
