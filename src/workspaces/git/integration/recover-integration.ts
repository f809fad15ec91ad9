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
  /** `done`: the target has the new state, and the outcome is on record. */
  readonly result: CarriedOut;
}

/**
 * Brings every integration that a crash cut off to one of its two ends: finished where everything
 * was ready and nothing stands in the way, taken back otherwise. Waits for integrations that
 * another process is carrying out at this moment. A second call finds nothing to do. What is wrong
 * with one of them is thrown after all the others have come to theirs.
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

/** The same for one place, by whoever holds its lock. */
export async function recoverPlace(home: string, toplevel: string): Promise<void> {
  for (const id of listJournals(home)) {
    if (targetOf(home, id) === toplevel) await recoverOne(home, id);
  }
}

/** The place that a merge goes into. Where its journal cannot tell, the copy that it is of can. */
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
  // Read again under the lock: who held it may have come to the end.
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

/** Written before the journal is removed; the crash came in between. */
function readOutcome(
  home: string,
  journal: IntegrationJournal,
): IntegrationJournal["outcome"] | undefined {
  const path = layoutOf(home, journal.id).outcome;
  if (!existsSync(path) || journal.state !== "applying") return undefined;
  const outcome = JSON.parse(readFileSync(path, "utf8")) as IntegrationJournal["outcome"];
  return outcome["child"] === journal.outcome["child"] ? outcome : undefined;
}
