import { type Model, type ModelCaller, ModelFault } from "../../ports/model.ts";
import { clip } from "../../text.ts";
import { faultOf } from "./recorded-model.ts";
import type { RecordedRequest } from "./recorded-requests.ts";
import type { RecordedDelegation, Recording } from "./recording.ts";

/**
 * A model that gives the recorded answers, for tests of one's own agents: profiles, tools and
 * settings may be others than then, and the answers are the same. Each delegation gets those of the
 * recorded one with its profile, depth and task, in their order; of several that are alike, the
 * earliest that nobody has taken. What the recording does not have is a fault that says so.
 */
export function replayModel(recording: Recording): Model {
  const left = [...recording.delegations.values()];
  const taken = new Map<string, RecordedRequest[]>();
  return async ({ caller }) => {
    const requests = taken.get(caller.delegationId) ?? answersOf(take(left, caller));
    taken.set(caller.delegationId, requests);
    const next = requests.shift();
    if (next?.kind === "fault") throw faultOf(next);
    if (next?.kind === "answer") return next.reply;
    throw new ModelFault(
      "rejected",
      `The recording of ${recording.runId} has no answer to turn ${caller.turn} of ${caller.profile}, whose task is ${shown(caller.task)}.`,
    );
  };
}

function take(
  left: RecordedDelegation[],
  { depth, profile, task }: ModelCaller,
): RecordedDelegation | undefined {
  const place = left.findIndex(
    ({ contract: { parent, profile: recorded, step } }) =>
      recorded.id === profile && parent.depth === depth && step.description === task,
  );
  return place < 0 ? undefined : left.splice(place, 1)[0];
}

/** What came to nothing then is not waited for now. */
function answersOf(recorded: RecordedDelegation | undefined): RecordedRequest[] {
  return [...(recorded?.requests.values() ?? [])].filter(({ kind }) => kind !== "cut");
}

function shown(task: string): string {
  return JSON.stringify(clip(task, 80));
}
