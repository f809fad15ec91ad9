import { statSync } from "node:fs";
import { dirname, join } from "node:path";
import { layoutOf } from "../copies/copy-layout.ts";
import type { WorkingCopy } from "../copies/working-copy.ts";
import { entryAt } from "../entry-at.ts";
import { shownRaw } from "../raw-path.ts";
import type { TreeChange } from "../tree-changes.ts";
import type { StepObserver } from "./apply-step.ts";
import { type CarriedOut, carryOutIntegration } from "./carry-out-integration.ts";
import { type IntegrationJournal, readJournal, writeJournal } from "./integration-journal.ts";
import type { MergedResult } from "./integration-result.ts";
import { stageIntegration } from "./stage-integration.ts";

export interface MergeToApply {
  readonly changes: readonly TreeChange[];
  readonly tree: string;
  readonly branch: IntegrationJournal["branch"];
  readonly objectFormat: IntegrationJournal["objectFormat"];
  readonly outcome: MergedResult;
}

/** No folder is on the file system of all the files: they cannot be moved into place. */
export class OtherFileSystem extends Error {}

/** Writes the journal, stages, and carries out. The caller holds the lock on the target's files. */
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
      ...{ branch: merge.branch, objectFormat: merge.objectFormat },
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
      // What could not be taken back keeps its journal, and its old contents, for a recovery.
      if (left?.state === "staging") await carryOutIntegration(copy.home, left);
      else if (left !== undefined) throw error;
      if ((error as NodeJS.ErrnoException).code !== "EXDEV") throw error;
    }
  }
  throw new OtherFileSystem("the target's files are on several file systems");
}

/** Renames work within a file system; ours is tried first, so that the target stays untouched. */
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
