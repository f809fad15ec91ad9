import { isDeepStrictEqual } from "node:util";
import type { Store } from "../../ports/store.ts";
import { type RecordedDelegation, recordingOf } from "./recording.ts";

/** What a child is: two that have this in common were given the same to do. */
export interface ContentKey {
  /** Of its profile, as it was then. */
  readonly profile: string;
  readonly task: string;
  readonly context: string | null;
}

export interface ReusableResult {
  readonly key: ContentKey;
  readonly delegationId: string;
  /** What its caller was told. */
  readonly text: string;
}

/**
 * The finished children of a run, up to one of its events, whose results can be had again without
 * running them. Those that had a copy of the workspace are not among them: what such a child made
 * is more than its words, and depends on what it started from.
 */
export async function reusableResults(
  store: Store,
  runId: string,
  upTo: number,
): Promise<readonly ReusableResult[]> {
  const { delegations } = await recordingOf(runId, store);
  return [...delegations.values()].flatMap((child) => {
    const text = textFor(child, delegations.get(child.parentId ?? ""), upTo);
    return text === undefined ? [] : { key: keyOf(child), delegationId: child.id, text };
  });
}

function keyOf({ contract }: RecordedDelegation): ContentKey {
  const { profile, step } = contract;
  return { profile: profile.hash, task: step.description, context: step.context };
}

function textFor(
  { callId, contract, events, id }: RecordedDelegation,
  parent: RecordedDelegation | undefined,
  upTo: number,
): string | undefined {
  const end = events.find((event) => event.type === "agent.subagent_closed");
  if (end === undefined || end.seq > upTo) return undefined;
  if (end.payload.final_status !== "completed" || contract.workspace.base !== null)
    return undefined;
  const result = parent?.calls.get(callId ?? "")?.result;
  if (result?.kind !== "completed" || result.artifact !== undefined) return undefined;
  // A call that has one child, and brings what that one said.
  return isDeepStrictEqual(result.delivered, [id]) ? result.text : undefined;
}
