import { clientOf } from "../../contracts/contract.ts";
import type { RunRequest } from "../../ports/delegator.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import type { Store } from "../../ports/store.ts";
import { Transcript } from "../../sessions/transcript.ts";
import { type RecordedDelegation, type Recording, recordingOf } from "./recording.ts";

export interface ForkRequest {
  readonly runId: string;
  /** The event up to which history is shared, by its number in the run (`run_seq`). */
  readonly at: number;
  /** The profile that continues, if not the root agent's, or its handle. */
  readonly profile?: string | undefined;
  readonly model?: string | undefined;
  /** The next task; absent: the old task continues. */
  readonly task?: string | undefined;
}

/** A fork that can be started. */
export interface PlannedFork {
  readonly request: RunRequest;
  /** How many turns of the root agent the fork shares. */
  readonly turns: number;
  /** The last shared event, by its number in the run: the end of a turn, or the first event. */
  readonly sharedUpTo: number;
  /** The requested event, by its number in the store. */
  readonly reach: number;
}

/**
 * The request that continues a run from its middle: with the root agent's conversation up to the last
 * turn whose calls all had results. The new run gets the grant of any run of its principal, and no
 * more tools than the old one had.
 */
export async function planFork(store: Store, fork: ForkRequest): Promise<PlannedFork> {
  const recording = await recordingOf(fork.runId, store);
  const { delegations, events, started } = recording;
  const [first, last] = [events[0]?.run_seq ?? 0, events.at(-1)?.run_seq ?? 0];
  if (!Number.isSafeInteger(fork.at) || fork.at < first || fork.at > last) {
    throw new MandateError(
      "usage",
      `Run ${fork.runId} has no event ${fork.at}: its events are ${first} to ${last}. See them: mandate logs ${fork.runId}`,
    );
  }
  const [root] = delegations.values();
  if (root === undefined) {
    throw new MandateError(
      "not-resumable",
      `Run ${fork.runId} has no agent: it ended before its root was created.`,
    );
  }
  const client = clientOf(root.contract);
  if (client !== undefined) {
    throw new MandateError(
      "not-resumable",
      `The root of ${fork.runId} is an agent of another program (${client}), which keeps its conversation: fork it there.`,
    );
  }
  const { runSeq, seq, turns } = lastTurn(root, recording, fork.at);
  const history = { resumedFrom: root.id, resumedAt: seq };
  const { session, workspace } = started;
  const asked = requestFor(root, fork);
  // Read-only only because of the session's mode: the session decides again.
  const readOnly = asked.readOnly && session?.read_only !== true;
  const request = { ...asked, readOnly, workspace, session: session?.id, ...history };
  const reach = events.findLast((event) => event.run_seq <= fork.at)?.seq ?? seq;
  return { request, turns, sharedUpTo: runSeq, reach };
}

/**
 * The latest event up to `at` after which every call of the root agent has its result and no
 * background child is unawaited: background children belong to the old run.
 */
function lastTurn(root: RecordedDelegation, { events }: Recording, at: number) {
  const own = jobsOf(root);
  const transcript = new Transcript(root.opening);
  const jobs = new Set<string>();
  let shared = { runSeq: root.events[0]?.run_seq ?? 0, seq: root.events[0]?.seq ?? 0, turns: 0 };
  for (const event of events) {
    if (event.run_seq > at) break;
    const { payload, run_seq: runSeq, seq, sub_agent_id: id = "", type } = event;
    if (type === "agent.subagent_created" && own.has(id)) jobs.add(id);
    if (id !== root.id) continue;
    if (type === "agent.tool_completed")
      for (const one of payload.delivered ?? []) jobs.delete(one);
    transcript.apply(event);
    if (transcript.pending.length === 0 && jobs.size === 0) {
      shared = { runSeq, seq, turns: transcript.turns };
    }
  }
  return shared;
}

/** Background children: the call that made them completed without their results. */
function jobsOf({ calls }: RecordedDelegation): ReadonlySet<string> {
  const jobs = new Set<string>();
  for (const { acts, result } of calls.values()) {
    if (result.kind !== "completed") continue;
    for (const act of acts) {
      if (act.kind === "child" && !result.delivered?.includes(act.id)) jobs.add(act.id);
    }
  }
  return jobs;
}

function requestFor(
  { contract }: RecordedDelegation,
  { model, profile, task }: ForkRequest,
): RunRequest {
  const { budget, exit, outputs, permissions, step, workspace } = contract;
  const { agent, id } = contract.profile;
  const who = profile ?? agent ?? id;
  return {
    task: task ?? step.description,
    profile: who,
    context: step.context ?? undefined,
    successCriteria: step.success_criteria,
    // Without a folder there are no reports and no writes.
    readOnly: workspace.root !== null && outputs.report_path_pattern === null,
    ...(profile === undefined && { tools: permissions.allowed_tools }),
    ...(model !== undefined && { modelOverride: model }),
    ...(budget.cost !== null && { maxCost: budget.cost }),
    isConversation: exit.tools.length === 0 && exit.evidence === "none",
  };
}
