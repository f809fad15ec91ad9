import type { Store } from "../../ports/store.ts";
import { contentKey } from "./content-key.ts";
import { RecordedAnswers } from "./recorded-answers.ts";
import { type RecordedDelegation, recordingOf } from "./recording.ts";
import type { FindTool } from "./shown-messages.ts";

/** A finished child, for one that was given the same to do. */
export interface Predecessor {
  readonly key: string;
  answers(): RecordedAnswers;
}

/** The children that a run had finished by one of its events, in the order of their creation. */
export async function predecessorsIn(
  runId: string,
  store: Store,
  upTo: number,
  find: FindTool,
): Promise<Predecessor[]> {
  const recording = await recordingOf(runId, store);
  return [...recording.delegations.values()]
    .filter((child) => child.parentId !== null && wasFinished(child, upTo))
    .map((child) => ({
      key: contentKey(child.contract),
      answers: () => new RecordedAnswers(child, recording, find),
    }));
}

/** Well, and by itself: what a limit had cut would not have ended there. */
function wasFinished({ events }: RecordedDelegation, upTo: number): boolean {
  const end = events.find((event) => event.type === "agent.subagent_closed");
  const output = events.find((event) => event.type === "agent.subagent_waiting_for_merge");
  if (end === undefined || end.seq > upTo) return false;
  return end.payload.final_status === "completed" && output?.payload.truncated !== true;
}
