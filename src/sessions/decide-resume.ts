import { type Delegation, isOpen } from "../events/delegation.ts";
import { keyOfTry, mostTries } from "../events/planned-steps.ts";
import { childrenOf, type RunState } from "../events/run-state.ts";
import type { Store } from "../ports/store.ts";
import { RunRows } from "./list-sessions.ts";
import { readHead, type SessionHead } from "./session-chain.ts";

/** How an id is resumed, by the log of its run. */
export type ResumeDecision =
  /** The run itself continues: it is orphaned or paused. */
  | { readonly kind: "continue" }
  /** A live process works on the run. */
  | { readonly kind: "busy" }
  /** A new run continues the conversation of each of these, in this order. */
  | { readonly kind: "start"; readonly from: readonly string[] };

export interface ResumedPast {
  readonly state: RunState;
  /** The named delegation; the root, where a run was named. */
  readonly target: Delegation;
  readonly isRun: boolean;
  /** Whether another program runs the target's agent. */
  readonly isExternal: boolean;
  /** No process works on the run: it is paused or orphaned. */
  readonly isIdle: boolean;
}

export function decideResume(past: ResumedPast): ResumeDecision {
  const { isExternal, isIdle, isRun, state, target } = past;
  const hasEnded = isRun ? state.outcome !== null : !isOpen(target);
  if (!hasEnded) return { kind: isIdle ? "continue" : "busy" };
  return { kind: "start", from: isExternal ? unfinishedBelow(state, target.id) : [target.id] };
}

/**
 * The children that closed without completing, in the order of their steps. Only the last try of a step
 * counts.
 */
function unfinishedBelow(state: RunState, id: string): readonly string[] {
  const children = childrenOf(state, id);
  const calls = new Map(children.map((child) => [child.callId, child.id]));
  const replaced = new Set<string>();
  for (const { callId } of children) {
    if (callId === null) continue;
    const tries = Array.from({ length: mostTries }, (_, index) => keyOfTry(callId, index + 1));
    for (const earlier of tries.flatMap((key) => calls.get(key) ?? []).slice(0, -1)) {
      replaced.add(earlier);
    }
  }
  return children
    .filter((child) => child.status === "closed" && child.finalStatus !== "completed")
    .map((child) => child.id)
    .filter((child) => !replaced.has(child));
}

/** The open children, which can continue without their caller. */
export function openBelow(state: RunState, id: string): readonly string[] {
  return childrenOf(state, id)
    .filter(isOpen)
    .map((child) => child.id);
}

/** The state of a delegation's work after all its resumptions. */
export interface LatestWork {
  /** The delegation that continued it last, or the delegation itself. */
  readonly id: string;
  readonly runId: string;
  readonly state: "open" | "completed" | "failed";
}

/**
 * For each delegation of a run, the last one that continued its work: resumed work is not started twice,
 * and work that failed again continues from its last conversation.
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

/** The latest continuation of each delegation. */
async function continuations(
  store: Store,
  since: string,
): Promise<ReadonlyMap<string, SessionHead>> {
  const found = new Map<string, SessionHead>();
  for await (const { id } of new RunRows(store).newestFirst()) {
    if (id === since) break;
    // A damaged run is left out.
    const head = await readHead(store, id).catch(() => undefined);
    // A fork is work of its own.
    if (!head?.resumedFrom || head.resumedAt !== null || found.has(head.resumedFrom)) continue;
    found.set(head.resumedFrom, head);
  }
  return found;
}
