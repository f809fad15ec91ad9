import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { writeDurablySync } from "../../../files.ts";
import { layoutOf } from "../copies/copy-layout.ts";
import { isEntry, lookAtFile } from "../look-at-file.ts";
import { advanceBranch } from "./advance-branch.ts";
import { applyStep, removeIfEmpty, revertStep, type StepObserver } from "./apply-step.ts";
import {
  type IntegrationJournal,
  type IntegrationStep,
  removeJournal,
  writeJournal,
} from "./integration-journal.ts";
import { removeStaging, stagingFolders } from "./stage-integration.ts";

export type CarriedOut =
  | { readonly status: "done"; readonly outcome: IntegrationJournal["outcome"] }
  /** Everything is as it was, except `left`: paths that somebody else changed meanwhile. */
  | {
      readonly status: "reverted";
      readonly blocked: readonly string[];
      readonly left: readonly string[];
    };

/**
 * Applies what is staged, or takes back what was begun. May be called again after a crash at any
 * point: each step looks at the files to find out where it stands. The order matters: what goes
 * away makes room first, and the outcome is written before anything of the journal is removed.
 */
export async function carryOutIntegration(
  home: string,
  journal: IntegrationJournal,
  observe: StepObserver = () => undefined,
): Promise<CarriedOut> {
  // The person removed the whole folder; there is nothing to bring into any state.
  if (!existsSync(journal.toplevel)) return clear(home, journal, ["."]);
  if (journal.state === "staging") return clear(home, journal, []);
  if (journal.state === "reverting") return revert(home, journal, [], observe);
  const blocked = await applyAll(home, journal, observe);
  if (blocked.length === 0) blocked.push(...(await findLateEdits(journal)));
  if (blocked.length > 0) return revert(home, journal, blocked, observe);
  const outcome = { ...journal.outcome, ...(await advanceBranch(journal)) };
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
    // What takes the place of a folder needs it gone.
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

/** Deletions, then replacements, then new files; folders that became empty go in between. */
function orderOf(steps: readonly IntegrationStep[]): readonly number[] {
  const rank = ({ before, after }: IntegrationStep): number =>
    after === null ? 0 : before === null ? 2 : 1;
  return steps
    .map((step, index) => ({ index, rank: rank(step) }))
    .sort((left, right) => left.rank - right.rank || left.index - right.index)
    .map(({ index }) => index);
}

/** Whoever had a file open may have written to it while it was moved aside. */
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
  // Written down first: a crash from here on must not carry on forwards.
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
