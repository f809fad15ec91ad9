import { externalProvider, modelName } from "../../contracts/contract.ts";
import { type Cause, describeCallCause } from "../../events/cause.ts";
import type { CloseReason } from "../../events/close-reason.ts";
import type { Delegation } from "../../events/delegation.ts";
import type { ArtifactReference, NewEvent } from "../../events/event.ts";
import { sha256 } from "../../events/hash-chain.ts";
import { apply } from "../../events/lifecycle.ts";
import type { Seal } from "../../events/seal.ts";
import type { DelegationResult } from "../../ports/delegator.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import { messageOf } from "../../ports/message-of.ts";
import { statusOf } from "../../sessions/delegation-result.ts";
import { storedLine } from "../../text.ts";
import type { TakenOver } from "../changes/take-over.ts";
import { event, type LiveDelegation, outputOf, untrustedOf } from "../live-delegation.ts";
import { settledIfOpen } from "../turns/settle-request.ts";
import { type Ending, failure, failureBy, type OutputEnding, type Rejection } from "./ending.ts";

/** How a delegation's end was received. */
export interface Accepted extends TakenOver {
  readonly ending: Ending;
  readonly path?: string | undefined;
  readonly artifact?: ArtifactReference | undefined;
  /** What it changed, for a caller on another machine. */
  readonly bundle?: ArtifactReference | undefined;
  /** Its children that run when it answers. */
  readonly running?: readonly string[];
}

/** Why it failed; undefined: it completed. */
export function failedBy({ ending, rejected }: Accepted): Rejection | undefined {
  return rejected ?? (ending.kind === "failure" ? { cause: ending.cause } : undefined);
}

/** The events that end a delegation, and its result: both hold the same seal. */
export function conclude(
  agent: LiveDelegation,
  accepted: Accepted,
): [events: NewEvent[], result: DelegationResult] {
  const { ending, merge } = accepted;
  const failed = failedBy(accepted);
  const events: NewEvent[] = [...unfinished(agent)];
  const at = agent.run.parts.clock.now();
  const state = events.reduce((before, one) => apply(before, { ...one, at }), agent.state);
  const seal = sealOf(agent, accepted, state);
  const result = resultFor(agent, accepted, seal);
  if (ending.kind === "output" && outputOf(agent) === null)
    events.push(outputEvent(agent, accepted, ending));
  if (merge) events.push(event(agent, "agent.worktree_merged", merge));
  const reason = result.closeReason;
  const finalStatus = failed === undefined ? "completed" : "failed";
  events.push(
    failed === undefined
      ? event(agent, "agent.subagent_completed", { integrator: merge ? "git" : "report", reason })
      : event(agent, "agent.subagent_failed", failureBy(failed)),
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
  agent: LiveDelegation,
  { artifact, bundle, path, running }: Accepted,
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
    ...(running && { running }),
  });
}

/** What was under way has an end in the log, even if nobody will ever know how it went. */
export function* unfinished(agent: LiveDelegation): Generator<NewEvent> {
  for (const [callId, { tool }] of agent.said.openCalls) {
    const isHarmless = agent.run.parts.toolbox.get(tool)?.idempotent === true;
    yield endedCall(agent.id, { callId, tool, isHarmless });
  }
  yield* settledIfOpen(agent);
}

/** A call that its delegation's end cut: one that may be repeated has failed, of another nothing is known. */
export function endedCall(
  id: string,
  { callId, isHarmless, tool }: { callId: string; tool: string; isHarmless: boolean },
): NewEvent {
  const cause = { code: "delegation_closed" } as const;
  const error = describeCallCause(cause, tool, !isHarmless);
  const type = isHarmless ? "agent.tool_failed" : "agent.tool_outcome_unknown";
  return { type, sub_agent_id: id, payload: { call_id: callId, tool, cause, error } };
}

/** `state`: as it is when everything that was under way has its end. */
function sealOf(agent: LiveDelegation, { ending, files }: Accepted, state: Delegation): Seal {
  // What it had made when it was ended all the same is still what it made.
  const output = ending.kind === "output" ? ending.text : (outputOf(agent)?.text ?? null);
  const isOurs = agent.contract.model.provider !== externalProvider;
  return {
    summary: output === null ? "" : summaryOf(output),
    output_hash: output === null ? null : sha256(output),
    usage: state.usage,
    turns: state.turns,
    attempts: state.attempt,
    ...(isOurs && { requested: modelName(agent.contract) }),
    ...agent.said.evidence.asSealed(files),
    ...(untrustedOf(agent) !== null && { untrusted: true as const }),
  };
}

function resultFor(agent: LiveDelegation, accepted: Accepted, seal: Seal): DelegationResult {
  const { artifact, ending, merge } = accepted;
  const failed = failedBy(accepted);
  const failure = failed && failureBy(failed);
  const final = failure === undefined ? "completed" : "failed";
  const reason: CloseReason =
    failure?.code ??
    (ending.kind === "output" ? ending.reason : null) ??
    (merge ? "integrated" : "report_accepted");
  const text = failure?.error ?? (ending.kind === "output" ? ending.text : "");
  const children = agent.process.children.flatMap(({ process }) => process.end.result ?? []);
  return {
    delegationId: agent.id,
    profile: agent.contract.profile.id,
    status: statusOf(final, reason),
    result: text,
    tokenUsage: seal.usage,
    duration: agent.run.parts.clock.now() - agent.state.createdAt,
    ...(children.length > 0 && { subDelegations: children }),
    ...(ending.kind === "output" && ending.truncated && { truncated: true as const }),
    closeReason: reason,
    evidence: seal,
    ...(artifact && { artifacts: [artifact] }),
  };
}

/** What it answered, for callers that need not wait for its background children. */
export function answerOf(agent: LiveDelegation, ending: OutputEnding): DelegationResult {
  return resultFor(agent, { ending }, sealOf(agent, { ending }, agent.state));
}

/** Why the log could not take an end. */
export function unwrittenBy(error: unknown): Cause {
  const text = messageOf(error);
  const isFull = error instanceof MandateError && error.code === "storage-full";
  return { code: isFull ? "storage_full" : "store_failed", text };
}

/** What callers in this process are told when the log could not take the end. */
export function failedResult(agent: LiveDelegation, cause: Cause): DelegationResult {
  const ending = failure(cause);
  return resultFor(agent, { ending }, sealOf(agent, { ending }, agent.state));
}

/** A breadcrumb's length: enough to recognise, too short to flood. */
export function summaryOf(text: string): string {
  return storedLine(text, 240);
}

/** Its session is over, and so is its work; after an overrun it ends for that. */
export function watched(agent: LiveDelegation): OutputEnding {
  const remarks = agent.run.remarks.get(agent.id)?.count ?? 0;
  const said = remarks === 1 ? "1 remark" : `${remarks} remarks`;
  const text = `Watched ${agent.contract.parent.watches ?? "a session"}: ${said}.`;
  const isOverrun = agent.state.overrun === true;
  return {
    kind: "output",
    text,
    truncated: isOverrun,
    reason: isOverrun ? "budget_exhausted" : null,
  };
}
