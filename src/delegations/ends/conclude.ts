import { externalProvider, modelName } from "../../contracts/contract.ts";
import type { CloseReason } from "../../events/close-reason.ts";
import type { ArtifactReference, NewEvent } from "../../events/event.ts";
import { sha256 } from "../../events/hash-chain.ts";
import { oneLine } from "../../events/one-line.ts";
import type { Seal } from "../../events/seal.ts";
import type { DelegationResult } from "../../ports/delegator.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import { statusOf } from "../../sessions/delegation-result.ts";
import type { Agent } from "../agent.ts";
import { event } from "../agent-event.ts";
import type { TakenOver } from "../changes/take-over.ts";
import { settledIfOpen } from "../turns/settle-request.ts";
import { type Ending, failure, type OutputEnding } from "./ending.ts";

/** How a delegation's end was received. */
export interface Accepted extends TakenOver {
  readonly ending: Ending;
  readonly path?: string | undefined;
  readonly artifact?: ArtifactReference | undefined;
  /** What it changed, for a caller on another machine. */
  readonly bundle?: ArtifactReference | undefined;
}

/** The events that end a delegation, and its result: both hold the same seal. */
export function conclude(
  agent: Agent,
  accepted: Accepted,
): [events: NewEvent[], result: DelegationResult] {
  const { ending, merge, rejected } = accepted;
  const events: NewEvent[] = [...unfinished(agent)];
  const seal = sealOf(agent, accepted);
  const result = resultFor(agent, accepted, seal);
  if (ending.kind === "output" && agent.output === null)
    events.push(outputEvent(agent, accepted, ending));
  if (merge) events.push(event(agent, "agent.worktree_merged", merge));
  const reason = result.closeReason;
  const finalStatus = result.status === "completed" ? "completed" : "failed";
  events.push(
    finalStatus === "completed"
      ? event(agent, "agent.subagent_completed", { integrator: merge ? "git" : "report", reason })
      : event(agent, "agent.subagent_failed", {
          code: reason,
          error: rejected?.error ?? result.result,
        }),
    event(agent, "agent.subagent_closed", {
      sub_agent_id: agent.id,
      step_idx: agent.contract.parent.step_idx,
      final_status: finalStatus,
      close_reason: reason,
      seal,
    }),
  );
  return [events, result];
}

export function outputEvent(
  agent: Agent,
  { artifact, bundle, path }: Accepted,
  { reason, text, truncated }: OutputEnding,
): NewEvent {
  return event(agent, "agent.subagent_waiting_for_merge", {
    output: text,
    output_hash: sha256(text),
    ...(path !== undefined && { output_path: path }),
    ...(truncated && { truncated: true as const }),
    ...(reason !== null && { reason }),
    ...(artifact && { artifact }),
    ...(bundle && { bundle }),
  });
}

/** What was under way has an end in the log, even if nobody will ever know how it went. */
export function* unfinished(agent: Agent): Generator<NewEvent> {
  for (const [callId, tool] of agent.openCalls ?? []) {
    const about = { call_id: callId, tool };
    const harmless = agent.run.parts.toolbox.get(tool)?.idempotent === true;
    yield harmless
      ? event(agent, "agent.tool_failed", { ...about, error: "Interrupted: the delegation ended." })
      : event(agent, "agent.tool_outcome_unknown", {
          ...about,
          error: "Interrupted: its outcome is unknown.",
        });
  }
  agent.openCalls = null;
  yield* settledIfOpen(agent);
}

function sealOf(agent: Agent, { ending, files }: Accepted): Seal {
  // What it had made when it was ended all the same is still what it made.
  const output = ending.kind === "output" ? ending.text : (agent.output?.text ?? null);
  const isOurs = agent.contract.model.provider !== externalProvider;
  return {
    summary: output === null ? "" : summaryOf(output),
    output_hash: output === null ? null : sha256(output),
    usage: agent.usage,
    turns: agent.turns,
    attempts: agent.attempt,
    ...(isOurs && { requested: modelName(agent.contract) }),
    ...agent.evidence.asSealed(files),
    ...(agent.untrusted !== null && { untrusted: true as const }),
  };
}

function resultFor(
  agent: Agent,
  { artifact, ending, merge, rejected }: Accepted,
  seal: Seal,
): DelegationResult {
  const final = ending.kind === "output" && !rejected ? "completed" : "failed";
  const reason: CloseReason =
    rejected?.code ??
    (ending.kind === "failure"
      ? ending.code
      : (ending.reason ?? (merge ? "integrated" : "report_accepted")));
  const text = rejected?.error ?? (ending.kind === "failure" ? ending.error : ending.text);
  const children = agent.children?.flatMap((child) => child.result ?? []) ?? [];
  return {
    delegationId: agent.id,
    profile: agent.contract.profile.id,
    status: statusOf(final, reason),
    result: text,
    tokenUsage: agent.usage,
    duration: agent.run.parts.clock.now() - agent.createdAt,
    ...(children.length > 0 && { subDelegations: children }),
    ...(ending.kind === "output" && ending.truncated && { truncated: true as const }),
    closeReason: reason,
    evidence: seal,
    ...(artifact && { artifacts: [artifact] }),
  };
}

/** What callers in this process are told when the log could not take the end. */
export function unwritten(agent: Agent, error: unknown): DelegationResult {
  const message = error instanceof Error ? error.message : String(error);
  const full = error instanceof MandateError && error.code === "storage-full";
  const ending = failure(full ? "storage_full" : "worker_lost", message);
  return resultFor(agent, { ending }, sealOf(agent, { ending }));
}

/** A breadcrumb's length: enough to recognise, too short to flood. */
export function summaryOf(text: string): string {
  return oneLine(text, 240);
}
