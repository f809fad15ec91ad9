import type { DatabaseSync } from "node:sqlite";
import type { NewEvent, StoredEvent } from "../../events/event.ts";
import { inboxChangeOf } from "../../events/inbox-change.ts";
import { touchesInbox } from "../../events/inbox-types.ts";
import { applyToRun, emptyRun, type RunState } from "../../events/run-state.ts";
import { upcast } from "../../events/upcast.ts";
import { controlRunId, runIdOf } from "../../ports/identity.ts";
import { InboxRows } from "./inbox-rows.ts";
import { RunIndex } from "./run-index.ts";

/** Works the inbox out from the events, for a database that is older than its inbox. */
export function fillInbox(database: DatabaseSync): void {
  const rows = new InboxRows(database, new RunIndex(database));
  const runs = new Map<string, RunState>();
  const batches = database.prepare(
    "SELECT first_seq, run, first_run_seq, events FROM event_batches ORDER BY first_seq",
  );
  for (const batch of batches.iterate()) {
    const runId = runIdOf(Number(batch["run"]));
    if (runId === controlRunId) continue;
    const run = runs.get(runId) ?? emptyRun(runId);
    runs.set(runId, run);
    for (const event of eventsOf(batch, runId)) writeChange(rows, run, event);
    if (run.outcome !== null) runs.delete(runId);
  }
}

function writeChange(rows: InboxRows, run: RunState, event: StoredEvent): void {
  const before = run.delegations.get(event.sub_agent_id ?? "");
  try {
    applyToRun(run, event);
    if (touchesInbox(event.type)) rows.write(inboxChangeOf(event, run, before));
  } catch {
    // A damaged log is the checker's to tell; it must not keep anybody from opening the database.
  }
}

function eventsOf(batch: Readonly<Record<string, unknown>>, runId: string): readonly StoredEvent[] {
  let stored: [type: string, subAgentId: string | null, at: number, payload: unknown][];
  try {
    stored = JSON.parse(String(batch["events"]));
  } catch {
    return [];
  }
  return stored.map(([type, subAgentId, at, payload], index) => ({
    ...upcast({ type, payload } as NewEvent),
    seq: Number(batch["first_seq"]) + index,
    run_seq: Number(batch["first_run_seq"]) + index,
    run_id: runId,
    ...(subAgentId !== null && { sub_agent_id: subAgentId }),
    at,
    summary: "",
    hash: "",
  })) as unknown as StoredEvent[];
}
