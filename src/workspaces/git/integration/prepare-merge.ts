import { mkdirSync } from "node:fs";
import { join, relative } from "node:path";
import { identifyThisProcess } from "../../processes/process-start.ts";
import { gitDirectoryAround } from "../../protected/protection.ts";
import { captureTree } from "../copies/capture-tree.ts";
import { type ChangeProblem, changeProblem, embeddedProblem } from "../copies/change-problem.ts";
import type { CollectedChanges } from "../copies/collect-changes.ts";
import { collisionProblem, leadsOutside } from "../copies/judge-changes.ts";
import { updateVault } from "../copies/vault.ts";
import { copyLimits, layoutOf, type WorkingCopy, worktreesOf } from "../copies/working-copy.ts";
import { type Inspection, inspectRepository } from "../inspect-repository.ts";
import {
  linkMode,
  pathInWorkspace,
  type RawPath,
  readLinks,
  readTreeChanges,
  readTreePaths,
  shownRaw,
  splitRaw,
  submoduleMode,
  type TreeChange,
  textOf,
} from "../read-git.ts";
import { removeFolder } from "../remove-folder.ts";
import { askGit, type GitContext, runGit, withOwnIndex } from "../run-git.ts";
import { type PlaceState, takeCarried } from "./carried-state.ts";
import { isOwned } from "./match-ownership.ts";

/** No problem found, as far as trees can tell. */
export type ReadyMerge = Extract<PreparedMerge, { status: "ready" }>;

export type PreparedMerge =
  | {
      readonly status: "ready";
      readonly how: "fast-forward" | "three-way" | "already";
      readonly inspection: Inspection;
      readonly tree: string;
      readonly changes: readonly TreeChange[];
      /** All paths of the merged tree. */
      readonly paths: readonly RawPath[];
    }
  | {
      readonly status: "conflict";
      readonly inspection: Inspection;
      readonly files: readonly string[];
    }
  | { readonly status: "refused"; readonly inspection: Inspection; readonly sentence: string }
  | { readonly status: "source-changed"; readonly inspection: Inspection };

type CommittedChanges = CollectedChanges & { readonly commit: string };

/** Reads the current state of the target and computes the merge. Changes nothing in the target. */
export async function prepareMerge(
  copy: WorkingCopy,
  changes: CommittedChanges,
  signal: AbortSignal | undefined,
): Promise<PreparedMerge> {
  const carried = takeCarried(copy);
  if (carried !== undefined) {
    const prepared = await mergeInto(copy, carried, changes);
    if (prepared.status === "ready" && appliesAll(copy, prepared, changes)) return prepared;
  }
  const captured = await captureTarget(copy, signal);
  return "status" in captured ? captured : mergeInto(copy, captured, changes);
}

/**
 * Whether each file of the child is written, and so compared with the target first. One that needs no
 * change by a carried state may have been changed back since.
 */
function appliesAll(
  { source: { prefix } }: WorkingCopy,
  { changes }: ReadyMerge,
  { files }: CommittedChanges,
): boolean {
  const written = new Set(changes.map(({ path }) => pathInWorkspace(prefix, shownRaw(path))));
  return files.every(({ path }) => written.has(path));
}

async function mergeInto(
  copy: WorkingCopy,
  { inspection, tree: currentTree }: PlaceState,
  { commit, tree: childTree }: CommittedChanges,
): Promise<PreparedMerge> {
  const context = { gitDirectory: layoutOf(copy.home, copy.id).vault };
  const merge = await mergeChanges(context, {
    ...{ base: copy.base, baseTree: copy.baseTree, currentTree, child: commit, childTree },
  });
  if (merge.status === "conflict") return { status: "conflict", inspection, files: merge.files };
  const { tree } = merge;
  const [changes, paths] = await Promise.all([
    readTreeChanges(context, currentTree, tree),
    readTreePaths(context, tree),
  ]);
  const how = changes.length === 0 ? "already" : merge.how;
  return { status: "ready", how, inspection, tree, changes, paths };
}

/** What the target contains now, or why nothing can be merged into it. */
async function captureTarget(
  copy: WorkingCopy,
  signal: AbortSignal | undefined,
): Promise<PlaceState | Exclude<PreparedMerge, ReadyMerge>> {
  const layout = layoutOf(copy.home, copy.id);
  const { toplevel, kind, prefix } = copy.source;
  const inspection = await inspectRepository(`${toplevel}/${prefix}`, copy.home);
  const { place, refusals, ignoreRules } = inspection;
  if (place.kind !== kind || place.toplevel !== toplevel) {
    return { status: "source-changed", inspection };
  }
  const [refusal] = refusals;
  if (refusal !== undefined) return { status: "refused", inspection, sentence: refusal.sentence };
  updateVault(layout.vault, place, ignoreRules);
  const { tree } = await captureTree({
    ...{ vault: layout.vault, place, tracked: inspection.tracked, hidden: inspection.hidden },
    ...{ indexFile: layout.sourceIndex, limits: copyLimits },
    ...(signal && { signal }),
  });
  return { inspection, tree };
}

type MergeOutcome =
  | { readonly status: "clean"; readonly how: "fast-forward" | "three-way"; readonly tree: string }
  | { readonly status: "conflict"; readonly files: readonly string[] };

/**
 * Merges a child's changes with the changes of its base since then. Works on trees in the vault: no
 * file is touched.
 */
async function mergeChanges(
  context: GitContext,
  sides: {
    readonly base: string;
    readonly baseTree: string;
    /** The current content of the target. */
    readonly currentTree: string;
    readonly child: string;
    readonly childTree: string;
  },
): Promise<MergeOutcome> {
  if (sides.currentTree === sides.baseTree || sides.currentTree === sides.childTree) {
    return { status: "clean", how: "fast-forward", tree: sides.childTree };
  }
  // A commit on top of the base for the target's state, so that git finds the base as the common
  // ancestor.
  const commit = ["commit-tree", sides.currentTree, "-p", sides.base, "-m", "The workspace now"];
  const current = await askGit(commit, { ...context, date: 0 });
  const args = ["merge-tree", "--write-tree", "-z", "--name-only", "--no-messages"];
  const { exitCode, stdout } = await runGit([...args, current, sides.child], {
    ...context,
    answers: [1],
  });
  const [tree = "", ...files] = splitRaw(stdout);
  if (exitCode === 0) return { status: "clean", how: "three-way", tree };
  return { status: "conflict", files: [...new Set(files.map(shownRaw))].sort() };
}

interface JudgedMerge {
  readonly violations: readonly string[];
  readonly problem: ChangeProblem | undefined;
  /** The changed paths, relative to the workspace. */
  readonly paths: readonly string[];
}

/**
 * Repeats the checks of a child's tree for the merged tree: a file that the person renamed takes
 * the child's change with it, and two children can add names that collide, or together create what
 * neither could create alone.
 */
export async function judgeMerge(
  copy: WorkingCopy,
  merge: Pick<ReadyMerge, "changes" | "paths">,
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
  { changes, paths }: Pick<ReadyMerge, "changes" | "paths">,
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
  const all = paths.map(shownRaw);
  const embedded = embeddedProblem(copy.source.prefix, all, present);
  if (embedded !== undefined) return embedded;
  // Checked in the folder itself, because empty and ignored folders are in no tree.
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

/** A link that was renamed may have another target at its new place. */
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

export type CheckVerdict =
  | { readonly passed: true }
  | { readonly passed: false; readonly reason: string };

/**
 * Checks a merged tree in a separate folder; `root` is the workspace in it. The folder is deleted
 * afterwards.
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
  // Ids contain no dots, so no other copy has this name, and the name contains its creator.
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
