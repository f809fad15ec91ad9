import { existsSync, readFileSync, realpathSync } from "node:fs";
import { layoutOf } from "../copies/copy-layout.ts";
import { removeFolder } from "../remove-folder.ts";
import type { StepObserver } from "./apply-step.ts";
import { type CarriedOut, carryOutIntegration } from "./carry-out-integration.ts";
import {
  type IntegrationJournal,
  readJournal,
  readJournals,
  removeJournal,
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
 * another process is carrying out at this moment. A second call finds nothing to do.
 */
export async function recoverIntegration(
  home: string,
  observe: StepObserver = () => undefined,
): Promise<readonly RecoveredIntegration[]> {
  if (!existsSync(home)) return [];
  const real = realpathSync.native(home);
  const queue = new IntegrationQueue(real);
  const recovered: RecoveredIntegration[] = [];
  for (const { id, toplevel } of readJournals(real)) {
    const work = () => recoverOne(real, id, observe);
    const one = await queue.run(toplevel, work, { purpose: "files" });
    if (one !== undefined) recovered.push(one);
  }
  return recovered;
}

/** The same for one place, by whoever holds its lock. */
export async function recoverPlace(home: string, toplevel: string): Promise<void> {
  for (const journal of readJournals(home)) {
    if (journal.toplevel === toplevel) await recoverOne(home, journal.id);
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
  if (existsSync(journal.staging.parent)) {
    await removeFolder(journal.staging.parent, journal.staging.name);
  }
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
