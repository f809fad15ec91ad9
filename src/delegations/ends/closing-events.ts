import { externalProvider, modelName } from "../../contracts/contract.ts";
import { type Cause, closeReasonOf, describeCallCause, givenUp } from "../../events/cause.ts";
import type { CloseReason, RunOutcome } from "../../events/close-reason.ts";
import type { Delegation } from "../../events/delegation.ts";
import type { ArtifactReference, EventPayloads, NewEvent } from "../../events/event.ts";
import { sha256 } from "../../events/hash-chain.ts";
import { apply } from "../../events/lifecycle.ts";
import { openSteps, standingPlans } from "../../events/planned-steps.ts";
import { describeRunCause, type RunCause } from "../../events/run-cause.ts";
import type { Evidence, Seal } from "../../events/seal.ts";
import { planModelName, workflowModelName } from "../../models/plan-model.ts";
import type { DelegationResult } from "../../ports/delegator.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import { messageOf } from "../../ports/message-of.ts";
import { closedResult } from "../../sessions/delegation-result.ts";
import { storedLine } from "../../text.ts";
import type { Toolbox } from "../../tools/toolbox.ts";
import type { TakenOver } from "../changes/take-over.ts";
import {
  event,
  isWatcher,
  type LiveDelegation,
  type OpenCalls,
  outputOf,
  untrustedOf,
} from "../live-delegation.ts";
import type { LiveRun } from "../live-run.ts";
import { settledIfOpen } from "../turns/request-model.ts";
import { type Ending, failure, failureBy, type OutputEnding, type Rejection } from "./ending.ts";

/** How a delegation's end was received. */
export interface Accepted extends TakenOver {
  readonly ending: Ending;
  readonly path?: string | undefined;
  readonly artifact?: ArtifactReference | undefined;
  /** What it changed, for a caller on another machine. */
  readonly bundle?: ArtifactReference | undefined;
  /** The children that still run when the delegation answers. */
  readonly running?: readonly string[];
}

/** Why the delegation failed; undefined: it completed. */
export function failedBy({ ending, rejected }: Accepted): Rejection | undefined {
  return rejected ?? (ending.kind === "failure" ? { cause: ending.cause } : undefined);
}

/** A delegation as its log tells of it, in this process or only in the store. */
export interface Told {
  readonly id: string;
  readonly state: Delegation;
  readonly said: { readonly openCalls: OpenCalls; readonly evidence: Evidence };
}

interface Closing {
  readonly toolbox: Pick<Toolbox, "get">;
  readonly at: number;
  /** The settlement of the request under way. */
  readonly settlement: readonly NewEvent[];
  readonly sealed?: Pick<Seal, "requested" | "untrusted">;
}

/** The events that close a delegation, and what the delegation is after them. */
export function closingEvents(
  told: Told,
  accepted: Accepted,
  { at, sealed, settlement, toolbox }: Closing,
): { readonly events: readonly NewEvent[]; readonly closed: Delegation } {
  const { ending, files, merge } = accepted;
  const fold = (state: Delegation, events: readonly NewEvent[]) =>
    events.reduce((before, one) => apply(before, { ...one, at }), state);
  const cut = [...cutCalls(told, toolbox), ...settlement];
  const state = fold(told.state, cut);
  // What it had made when it was ended all the same is still what it made.
  const output = ending.kind === "output" ? ending.text : outputOf(told)?.text;
  const failed = failedBy(accepted);
  const reason = reasonOf(accepted);
  const rest: NewEvent[] = [];
  if (ending.kind === "output" && state.status !== "waiting_for_merge") {
    rest.push(outputEvent(told, accepted, ending));
  }
  if (merge) rest.push(event(told, "agent.worktree_merged", merge));
  rest.push(
    failed === undefined
      ? event(told, "agent.subagent_completed", { integrator: merge ? "git" : "report", reason })
      : event(told, "agent.subagent_failed", failureBy(failed)),
    event(told, "agent.subagent_closed", {
      sub_agent_id: told.id,
      step_idx: state.stepIdx,
      final_status: failed === undefined ? "completed" : "failed",
      close_reason: reason,
      seal: {
        summary: output === undefined ? "" : summaryOf(output),
        output_hash: output === undefined ? null : sha256(output),
        usage: state.usage,
        turns: state.turns,
        attempts: state.attempt,
        ...told.said.evidence.asSealed(files),
        ...sealed,
      },
    }),
  );
  return { events: [...cut, ...rest], closed: fold(state, rest) };
}

function reasonOf(accepted: Accepted): CloseReason {
  const failed = failedBy(accepted);
  if (failed !== undefined) return closeReasonOf(failed.cause);
  const { ending, merge } = accepted;
  const own = ending.kind === "output" ? ending.reason : null;
  return own ?? (merge ? "integrated" : "report_accepted");
}

/** Closes a delegation of this process: its last events, and the result that its caller gets. */
export function conclude(
  live: LiveDelegation,
  accepted: Accepted,
): [events: readonly NewEvent[], result: DelegationResult] {
  const { contract, process, run } = live;
  // Requests of another program are known only where they pass through this process.
  const isOurs = contract.model.provider !== externalProvider || process.cuts !== null;
  const { closed, events } = closingEvents(live, accepted, {
    toolbox: run.parts.toolbox,
    at: run.parts.clock.now(),
    settlement: settledIfOpen(live),
    sealed: {
      ...(isOurs && { requested: modelName(contract) }),
      ...(untrustedOf(live) !== null && { untrusted: true as const }),
    },
  });
  const children = process.children.flatMap((child) => child.process.end.result ?? []);
  const result = closedResult(closed, children);
  if (result === null) throw new Error(`${live.id} is ${closed.status} after its closing events`);
  return [events, result];
}

export function outputEvent(
  told: Pick<Told, "id">,
  { artifact, bundle, path, running }: Accepted,
  { reason, text, truncated }: OutputEnding,
): NewEvent {
  return event(told, "agent.subagent_waiting_for_merge", {
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

/** What was under way has an end in the log, though its outcome may stay unknown. */
export function unfinished(live: LiveDelegation): readonly NewEvent[] {
  return [...cutCalls(live, live.run.parts.toolbox), ...settledIfOpen(live)];
}

/** A cut call that may be repeated has failed; of any other one the outcome is unknown. */
function cutCalls({ id, said }: Told, toolbox: Pick<Toolbox, "get">): readonly NewEvent[] {
  const cause = { code: "delegation_closed" } as const;
  return [...said.openCalls].map(([callId, { tool }]) => {
    const isHarmless = toolbox.get(tool)?.idempotent === true;
    const error = describeCallCause(cause, { tool, isUnknown: !isHarmless });
    const type = isHarmless ? "agent.tool_failed" : "agent.tool_outcome_unknown";
    return { type, sub_agent_id: id, payload: { call_id: callId, tool, cause, error } };
  });
}

/** Why the log could not take an end. */
export function unwrittenBy(error: unknown): Cause {
  const text = messageOf(error);
  const isFull = error instanceof MandateError && error.code === "storage-full";
  return { code: isFull ? "storage_full" : "store_failed", text };
}

/** The result for callers in this process when the log could not take the end. */
export function failedResult(live: LiveDelegation, cause: Cause): DelegationResult {
  return conclude(live, { ending: failure(cause) })[1];
}

/** A breadcrumb's length: enough to recognise, too short to flood. */
export function summaryOf(text: string): string {
  return storedLine(text, 240);
}

/** A watcher completes when its session is over, or its budget was overrun. */
export function watched(live: LiveDelegation): OutputEnding {
  const remarks = live.run.history.remarks.get(live.id)?.count ?? 0;
  const said = remarks === 1 ? "1 remark" : `${remarks} remarks`;
  const text = `Watched ${live.contract.parent.watches ?? "a session"}: ${said}.`;
  const isOverrun = live.state.overrun === true;
  const reason = isOverrun ? "budget_exhausted" : null;
  return { kind: "output", text, truncated: isOverrun, reason };
}

/**
 * Why an output is not accepted for the plan of its agent: a plan is done when every step of it is,
 * and a plan that was written down must have been run.
 */
export function judgePlan(live: LiveDelegation, text: string): Rejection | undefined {
  const { contract, id, run, said } = live;
  const plan = standingPlans(run.history.plans).find(({ by }) => by === id);
  if (plan === undefined) {
    // By a rule or by a person: then nothing is wrong with the plan itself.
    const refused = said.transcript.deniedStreak > 0 || said.transcript.wasNotApproved;
    const model = modelName(contract);
    if (model === planModelName) return { cause: { code: "plan_not_run", refused, text } };
    const isFailed = model === workflowModelName && said.transcript.exit === null;
    return isFailed ? { cause: { code: "workflow_failed", refused, text } } : undefined;
  }
  const open = stepsOpenIn(run, plan);
  return open.length === 0
    ? undefined
    : { cause: { code: "plan_incomplete", steps: open }, said: text };
}

function stepsOpenIn(run: LiveRun, plan: EventPayloads["run.planned"]): string[] {
  return openSteps(plan, (callId) => {
    return (
      run.delegations.byCall.get(`${plan.by} ${callId}`)?.process.end.result?.status === "completed"
    );
  });
}

/**
 * The run ends with its root. It succeeded when the root did, every step of the plans that stand was
 * completed, and the failure of each other child has reached the agent that delegated to it.
 * `failed`: why the root failed.
 */
export function runFinished(
  run: LiveRun,
  root: LiveDelegation,
  failed: Cause | undefined,
): NewEvent<"run.finished"> {
  run.finished = true;
  const problem =
    failed ?? planProblem(run, root) ?? overlookedProblem(run, root) ?? unstartedProblem(run);
  const cause: RunCause = problem ?? { code: "all_closed" };
  const [reason = ""] = describeRunCause(cause).split("\n", 1);
  const payload = { outcome: outcomeOf(failed, problem), cause, reason: summaryOf(reason) };
  return { type: "run.finished", payload };
}

function outcomeOf(failed: Cause | undefined, problem: RunCause | undefined): RunOutcome {
  if (problem === undefined) return "succeeded";
  return failed && closeReasonOf(failed) === "cancelled" ? "cancelled" : "failed";
}

function overlookedProblem(run: LiveRun, root: LiveDelegation): RunCause | undefined {
  const overlooked = [...run.delegations.byId.values()].filter(
    (live) =>
      live !== root &&
      !isWatcher(live) &&
      live.process.end.result?.status !== "completed" &&
      !wasGivenUp(live) &&
      !hasArrived(live),
  );
  if (overlooked.length === 0) return undefined;
  return { code: "failures_undelivered", delegations: overlooked.map(({ id }) => id) };
}

/** Whether the delegation was ended on purpose after its caller had answered. */
function wasGivenUp({ id, parent, state }: LiveDelegation): boolean {
  const cause = state.status === "closed" ? state.failure?.cause : undefined;
  const above = parent?.state.status === "waiting_for_merge" ? parent.state.output.running : [];
  return cause !== undefined && givenUp.has(cause.code) && above?.includes(id) === true;
}

/** A failure that was delivered says as well what fell with it. */
function hasArrived(live: LiveDelegation): boolean {
  const { delivered } = live.run.history;
  for (let one: LiveDelegation | null = live; one !== null; one = one.parent) {
    if (one.process.end.result?.status !== "completed" && delivered.has(one.id)) return true;
  }
  return false;
}

/**
 * The model may continue without a child that could not be started because of the machine (no git,
 * a failing disk). The run does not count as succeeded.
 */
function unstartedProblem({ delegations }: LiveRun): RunCause | undefined {
  for (const { said } of delegations.byId.values()) {
    const { spawnFailure } = said.evidence;
    if (spawnFailure !== null) return { code: "child_not_started", text: summaryOf(spawnFailure) };
  }
  return undefined;
}

function planProblem(run: LiveRun, root: LiveDelegation): RunCause | undefined {
  const open = standingPlans(run.history.plans)
    .filter(({ by }) => !hasFallen(run.delegations.byId.get(by), root))
    .flatMap((plan) => stepsOpenIn(run, plan));
  return open.length === 0 ? undefined : { code: "steps_open", steps: open };
}

/** Whether the planner or a delegation above it failed: the failure counts there, and ended the plan. */
function hasFallen(planner: LiveDelegation | undefined, root: LiveDelegation): boolean {
  for (let one = planner ?? null; one !== null && one !== root; one = one.parent) {
    const { result } = one.process.end;
    if (result !== null && result.status !== "completed") return true;
  }
  return false;
}
