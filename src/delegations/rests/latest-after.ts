import { isOpen } from "../../events/delegation.ts";
import type { RunState } from "../../events/run-state.ts";
import type { Store } from "../../ports/store.ts";
import { RunRows } from "../../sessions/run-rows.ts";
import { readHead, type SessionHead } from "../../sessions/session-head.ts";

/** Where the work of a delegation stands, after it was resumed so often. */
export interface LatestWork {
  /** Of the delegation that continued it last; its own where none did. */
  readonly id: string;
  readonly runId: string;
  readonly state: "open" | "completed" | "failed";
}

/**
 * For each delegation of a run, the one that continued its work last. So what was resumed is not
 * begun a second time, and what failed again continues from its last conversation.
 */
export async function latestAfter(
  store: Store,
  run: RunState,
  ids: readonly string[],
): Promise<readonly LatestWork[]> {
  const next = await continuations(store, run.id);
  return Promise.all(ids.map((id) => follow(store, next, { id, runId: run.id, state: "failed" })));
}

async function follow(
  store: Store,
  next: ReadonlyMap<string, SessionHead>,
  work: LatestWork,
): Promise<LatestWork> {
  const head = next.get(work.id);
  const root = head && (await store.readRun(head.runId))?.delegations.get(head.id);
  if (head === undefined || root === undefined) return work;
  const { id, runId } = head;
  if (isOpen(root)) return { id, runId, state: "open" };
  const isDone = root.status === "closed" && root.finalStatus === "completed";
  return isDone
    ? { id, runId, state: "completed" }
    : follow(store, next, { id, runId, state: "failed" });
}

/** By the delegation that is continued; of several continuations the latest one counts. */
async function continuations(
  store: Store,
  since: string,
): Promise<ReadonlyMap<string, SessionHead>> {
  const found = new Map<string, SessionHead>();
  for await (const { id } of new RunRows(store).newestFirst()) {
    if (id === since) break;
    // A damaged run continues nothing that could be found.
    const head = await readHead(store, id).catch(() => undefined);
    // A fork left the conversation before its end: it is work of its own.
    if (!head?.resumedFrom || head.resumedAt !== null || found.has(head.resumedFrom)) continue;
    found.set(head.resumedFrom, head);
  }
  return found;
}
