import { existsSync, readFileSync, realpathSync } from "node:fs";
import { openWorkingCopies } from "../copies/list-working-copies.ts";
import { layoutOf } from "../copies/working-copy.ts";
import type { StepObserver } from "./apply-step.ts";
import { type CarriedOut, carryOutIntegration } from "./carry-out-integration.ts";
import {
  type IntegrationJournal,
  listJournals,
  readJournal,
  removeJournal,
  removeStaging,
} from "./integration-journal.ts";
import { IntegrationQueue } from "./integration-queue.ts";

export interface RecoveredIntegration {
  readonly id: string;
  readonly toplevel: string;
  /** `done`: the target has the new state, and the outcome is recorded. */
  readonly result: CarriedOut;
}

/**
 * Finishes or reverts every integration that a crash interrupted: finishes it if everything is
 * staged and nothing is in the way, otherwise reverts it. Waits for integrations of live processes.
 * A second call finds nothing to do. If one fails, its error is thrown after all others are done.
 */
export async function recoverIntegration(
  home: string,
  observe: StepObserver = () => undefined,
): Promise<readonly RecoveredIntegration[]> {
  if (!existsSync(home)) return [];
  const real = realpathSync.native(home);
  const queue = new IntegrationQueue(real);
  const recovered: RecoveredIntegration[] = [];
  const failures: unknown[] = [];
  for (const id of listJournals(real)) {
    try {
      const journal = readJournal(real, id);
      if (journal === undefined) continue;
      const work = () => recoverOne(real, id, observe);
      const one = await queue.run(journal.toplevel, work, { purpose: "files" });
      if (one !== undefined) recovered.push(one);
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
  return recovered;
}

/** Recovers one place. The caller holds its lock. */
export async function recoverPlace(home: string, toplevel: string): Promise<void> {
  for (const id of listJournals(home)) {
    if (targetOf(home, id) === toplevel) await recoverOne(home, id);
  }
}

/** The place that a merge changes: from its journal or, if that is damaged, from its copy. */
function targetOf(home: string, id: string): string | undefined {
  try {
    return readJournal(home, id)?.toplevel;
  } catch {
    return openWorkingCopies(home).find((copy) => copy.id === id)?.source.toplevel;
  }
}

async function recoverOne(
  home: string,
  id: string,
  observe: StepObserver = () => undefined,
): Promise<RecoveredIntegration | undefined> {
  // Read again under the lock: the previous holder may have finished it.
  const journal = readJournal(home, id);
  if (journal === undefined) return undefined;
  const { toplevel } = journal;
  const recorded = readOutcome(home, journal);
  if (recorded === undefined) {
    return { id, toplevel, result: await carryOutIntegration(home, journal, observe) };
  }
  await removeStaging(journal);
  removeJournal(home, id);
  return { id, toplevel, result: { status: "done", outcome: recorded } };
}

/** The outcome, if the crash happened between writing it and removing the journal. */
function readOutcome(
  home: string,
  journal: IntegrationJournal,
): IntegrationJournal["outcome"] | undefined {
  const path = layoutOf(home, journal.id).outcome;
  if (!existsSync(path) || journal.state !== "applying") return undefined;
  const outcome = JSON.parse(readFileSync(path, "utf8")) as IntegrationJournal["outcome"];
  return outcome["child"] === journal.outcome["child"] ? outcome : undefined;
}
