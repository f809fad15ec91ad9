import { existsSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { writeDurablySync } from "../../../files.ts";
import { entryAt, isEntry, lookAtFile } from "../compare-files.ts";
import { layoutOf, type WorkingCopy } from "../copies/working-copy.ts";
import { shownRaw, type TreeChange } from "../read-git.ts";
import { applyStep, removeIfEmpty, revertStep, type StepObserver } from "./apply-step.ts";
import {
  type IntegrationJournal,
  type IntegrationStep,
  readJournal,
  removeJournal,
  removeStaging,
  stageIntegration,
  stagingFolders,
  writeJournal,
} from "./integration-journal.ts";
import type { MergedResult } from "./integration-result.ts";

export type CarriedOut =
  | { readonly status: "done"; readonly outcome: IntegrationJournal["outcome"] }
  /** Everything is as it was, except `left`: paths that another process changed. */
  | {
      readonly status: "reverted";
      readonly blocked: readonly string[];
      readonly left: readonly string[];
    };

/**
 * Applies what is staged, or reverts what was begun. May be called again after a crash at any
 * point: each step checks the files to find out where it stopped. The order matters: removed files
 * make room first, and the outcome is written before anything of the journal is removed.
 */
export async function carryOutIntegration(
  home: string,
  journal: IntegrationJournal,
  observe: StepObserver = () => undefined,
): Promise<CarriedOut> {
  // The person removed the whole folder, so nothing can be restored.
  if (!existsSync(journal.toplevel)) return clear(home, journal, ["."]);
  if (journal.state === "staging") return clear(home, journal, []);
  if (journal.state === "reverting") return revert(home, journal, [], observe);
  const blocked = await applyAll(home, journal, observe);
  if (blocked.length === 0) blocked.push(...(await findLateEdits(journal)));
  if (blocked.length > 0) return revert(home, journal, blocked, observe);
  const { outcome } = journal;
  writeDurablySync(layoutOf(home, journal.id).outcome, JSON.stringify(outcome));
  observe("wrote the outcome");
  await finish(home, journal);
  observe("removed the journal");
  return { status: "done", outcome };
}

async function applyAll(
  home: string,
  journal: IntegrationJournal,
  observe: StepObserver,
): Promise<string[]> {
  const order = orderOf(journal.steps);
  const firstToStay = order.findIndex((index) => journal.steps[index]?.after !== null);
  for (const [position, index] of order.entries()) {
    // A file that replaces a folder needs the folder gone.
    if (position === firstToStay) removeEmptied(journal);
    const path = journal.steps[index]?.path ?? "";
    try {
      if (!(await applyStep(journal, index, observe))) return [path];
    } catch (error) {
      await revert(home, journal, [path], observe);
      throw error;
    }
  }
  removeEmptied(journal);
  return [];
}

/**
 * Deletions, then replacements, then new files; folders that became empty are removed in between.
 */
function orderOf(steps: readonly IntegrationStep[]): readonly number[] {
  const rank = ({ before, after }: IntegrationStep): number =>
    after === null ? 0 : before === null ? 2 : 1;
  return steps
    .map((step, index) => ({ index, rank: rank(step) }))
    .sort((left, right) => left.rank - right.rank || left.index - right.index)
    .map(({ index }) => index);
}

/** A process that had a file open may have written to it after it was moved aside. */
async function findLateEdits(journal: IntegrationJournal): Promise<readonly string[]> {
  const { old } = stagingFolders(journal);
  const late: string[] = [];
  for (const [index, { path, before }] of journal.steps.entries()) {
    if (before === null) continue;
    const kept = await lookAtFile(join(old, String(index)), journal.objectFormat);
    if (kept.kind !== "nothing" && !isEntry(kept, before)) late.push(path);
  }
  return late;
}

async function revert(
  home: string,
  journal: IntegrationJournal,
  blocked: readonly string[],
  observe: StepObserver,
): Promise<CarriedOut> {
  // Recorded first: after a crash the revert must continue, not the merge.
  if (journal.state !== "reverting") writeJournal(home, { ...journal, state: "reverting" });
  const left: string[] = [];
  const order = orderOf(journal.steps).toReversed();
  const isNew = (index: number): boolean => journal.steps[index]?.before === null;
  for (const index of order.filter(isNew)) {
    if (!(await revertStep(journal, index, observe))) left.push(journal.steps[index]?.path ?? "");
  }
  for (const folder of journal.newFolders.toReversed()) removeIfEmpty(journal.toplevel, folder);
  for (const index of order.filter((index) => !isNew(index))) {
    if (!(await revertStep(journal, index, observe))) left.push(journal.steps[index]?.path ?? "");
  }
  return clear(home, journal, blocked, left);
}

async function clear(
  home: string,
  journal: IntegrationJournal,
  blocked: readonly string[],
  left: readonly string[] = [],
): Promise<CarriedOut> {
  await finish(home, journal);
  return { status: "reverted", blocked, left };
}

async function finish(home: string, journal: IntegrationJournal): Promise<void> {
  await removeStaging(journal);
  removeJournal(home, journal.id);
}

/** Removes the folders that lost their last file, up to the workspace's own. */
function removeEmptied(journal: IntegrationJournal): void {
  for (const { path, after } of journal.steps) {
    if (after !== null) continue;
    let folder = dirname(path);
    while (folder !== "." && folder !== journal.prefix) {
      if (!removeIfEmpty(journal.toplevel, folder)) break;
      folder = dirname(folder);
    }
  }
}

interface MergeToApply {
  readonly changes: readonly TreeChange[];
  readonly tree: string;
  readonly objectFormat: IntegrationJournal["objectFormat"];
  readonly outcome: MergedResult;
}

/** The files are on several file systems, so that they cannot be moved into place by renames. */
export class OtherFileSystem extends Error {}

/** Writes the journal, stages, and applies. The caller holds the lock on the target's files. */
export async function applyMerge(
  copy: WorkingCopy,
  merge: MergeToApply,
  observe: StepObserver,
): Promise<CarriedOut> {
  const layout = layoutOf(copy.home, copy.id);
  const { toplevel, prefix } = copy.source;
  const steps = merge.changes.map(({ path, ...sides }) => ({ ...sides, path: shownRaw(path) }));
  for (const staging of stagingPlaces(copy)) {
    const journal: IntegrationJournal = {
      ...{ version: 1, id: copy.id, toplevel, prefix, staging, steps, state: "staging" },
      objectFormat: merge.objectFormat,
      newFolders: missingFolders(toplevel, steps),
      outcome: JSON.parse(JSON.stringify(merge.outcome)),
    };
    writeJournal(copy.home, journal);
    observe("wrote the journal");
    try {
      await stageIntegration(journal, layout.vault, merge.tree);
      observe("staged");
      const ready: IntegrationJournal = { ...journal, state: "applying" };
      writeJournal(copy.home, ready);
      observe("decided to apply");
      return await carryOutIntegration(copy.home, ready, observe);
    } catch (error) {
      const left = readJournal(copy.home, copy.id);
      // If something could not be reverted, the journal and the old contents are kept for a
      // recovery.
      if (left?.state === "staging") await carryOutIntegration(copy.home, left);
      else if (left !== undefined) throw error;
      if ((error as NodeJS.ErrnoException).code !== "EXDEV") throw error;
    }
  }
  throw new OtherFileSystem("the target's files are on several file systems");
}

/**
 * Renames work within one file system. Mandate's own folder is tried first, so that the target
 * stays untouched.
 */
function stagingPlaces(copy: WorkingCopy): readonly IntegrationJournal["staging"][] {
  const { own } = layoutOf(copy.home, copy.id);
  const { toplevel } = copy.source;
  const beside = { parent: toplevel, name: `.mandate-${copy.id}` };
  const isSameSystem = statSync(own).dev === statSync(toplevel).dev;
  return isSameSystem ? [{ parent: own, name: "staging" }, beside] : [beside];
}

function missingFolders(
  toplevel: string,
  steps: readonly { readonly path: string; readonly after: unknown }[],
): string[] {
  const missing = new Set<string>();
  for (const { path, after } of steps) {
    if (after === null) continue;
    for (let folder = dirname(path); folder !== "."; folder = dirname(folder)) {
      if (entryAt(join(toplevel, folder))?.isDirectory() !== true) missing.add(folder);
    }
  }
  return [...missing].sort();
}
