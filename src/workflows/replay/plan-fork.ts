import { externalProvider } from "../../contracts/contract.ts";
import type { RunRequest } from "../../delegations/engine.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import type { Store } from "../../ports/store.ts";
import { Transcript } from "../../sessions/transcript.ts";
import { type RecordedDelegation, recordingOf } from "./recording.ts";

export interface ForkRequest {
  readonly runId: string;
  /** The event up to which history is shared. */
  readonly at: number;
  /** Another profile than the root agent had, or its handle. */
  readonly profile?: string | undefined;
  readonly model?: string | undefined;
  /** What is said next; absent: it goes on where it was. */
  readonly task?: string | undefined;
}

/** A fork that can be started. */
export interface PlannedFork {
  readonly request: RunRequest;
  /** How many turns of the root agent it shares. */
  readonly turns: number;
  /** The last event that it shares: the end of a turn, or the beginning. */
  readonly sharedUpTo: number;
}

/**
 * What to ask for, to go on from the middle of a run: the root agent's conversation up to the last
 * turn that was complete by then, its calls answered. The new run is the person's own: it is granted
 * what any run of theirs would be, and never more tools than the old one had.
 */
export async function planFork(store: Store, fork: ForkRequest): Promise<PlannedFork> {
  const { delegations, events, started } = await recordingOf(fork.runId, store);
  const [first, last] = [events[0]?.seq ?? 0, events.at(-1)?.seq ?? 0];
  if (!Number.isSafeInteger(fork.at) || fork.at < first || fork.at > last) {
    throw new MandateError(
      "usage",
      `Run ${fork.runId} has no event ${fork.at}: its events are ${first} to ${last}. See them: mandate logs ${fork.runId}`,
    );
  }
  const [root] = delegations.values();
  if (root === undefined) {
    throw new MandateError("not-resumable", `Run ${fork.runId} never came to have an agent.`);
  }
  if (root.contract.model.provider === externalProvider) {
    throw new MandateError(
      "not-resumable",
      `The root of ${fork.runId} is an agent of another program (${root.contract.profile.id}): its conversation is not here.`,
    );
  }
  const { seq, turns } = lastTurn(root, fork.at);
  const history = { resumedFrom: root.id, resumedAt: seq };
  const request = { ...requestFor(root, fork), workspace: started.workspace, ...history };
  return { request, turns, sharedUpTo: seq };
}

/** The latest moment by then at which no call of the root agent was unanswered. */
function lastTurn({ events, opening }: RecordedDelegation, at: number) {
  const transcript = new Transcript(opening);
  let shared = { seq: events[0]?.seq ?? 0, turns: 0 };
  for (const event of events) {
    if (event.seq > at) break;
    transcript.apply(event);
    if (transcript.pending.length === 0) shared = { seq: event.seq, turns: transcript.turns };
  }
  return shared;
}

function requestFor(
  { contract }: RecordedDelegation,
  { model, profile, task }: ForkRequest,
): RunRequest {
  const { outputs, permissions, step, workspace } = contract;
  const { agent, id } = contract.profile;
  const who = profile ?? agent ?? id;
  return {
    task: task ?? step.description,
    profile: who,
    context: step.context ?? undefined,
    successCriteria: step.success_criteria,
    // Without a folder there is no report either, and nothing to be kept from writing.
    readOnly: workspace.root !== null && outputs.report_path_pattern === null,
    ...(profile === undefined && { tools: permissions.allowed_tools }),
    ...(model !== undefined && { modelOverride: model }),
  };
}
