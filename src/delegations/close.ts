import type { CloseReason } from "../events/close-reason.ts";
import type { ArtifactReference, NewEvent } from "../events/event.ts";
import { sha256 } from "../events/hash-chain.ts";
import type { Seal } from "../events/seal.ts";
import type { DelegationResult } from "../ports/delegator.ts";
import { MandateError } from "../ports/mandate-error.ts";
import { resultOf, statusOf } from "../sessions/delegation-result.ts";
import { fits } from "../tools/delegation/fit-result.ts";
import type { Agent } from "./agent.ts";
import { type Ending, failure } from "./ending.ts";
import { reload } from "./hydrate.ts";
import type { LiveRun } from "./live-run.ts";
import { event, settled } from "./take-turn.ts";
import { writeReport } from "./write-report.ts";

/** So often may others get in between; each time means that they closed something themselves. */
const patience = 50;

/**
 * Ends a delegation: integrates what it made or fails it, seals it, closes it, and hands its result
 * to whoever waits, in one transaction. Whatever still runs below it is closed first. When somebody
 * else closed a part of that in the meantime, the rest is closed from what the log then says.
 */
export async function closeWith(agent: Agent, ending: Ending): Promise<void> {
  for (let tries = 1; ; tries++) {
    if (agent.isEnding) return;
    const ended: Agent[] = [];
    try {
      return await closeOnce(agent, ending, ended);
    } catch (error) {
      // What was not accepted has not ended.
      for (const one of ended) one.reopen();
      if (!isRace(error) || tries >= patience) throw error;
      await followLog(ended, error);
      // Nothing below it was in the way: it is for the caller to start from the log again.
      if (!agent.isEnding && ended.length <= 1) throw error;
    }
  }
}

async function closeOnce(agent: Agent, ending: Ending, ended: Agent[]): Promise<void> {
  const holding = holders(agent);
  if (holding.length > 0) await Promise.all(holding.map(release));
  const accepted = await integrate(agent, ending);
  if (agent.isEnding) return;
  const { run } = agent;
  const below = agent.children?.flatMap((child) => closeBelow(child, accepted.ending, ended)) ?? [];
  const [closing, result] = conclude(agent, accepted);
  // The parent that waits gets the result in the transaction that closes the child: once, or never.
  const delivery = agent.deliver?.(result) ?? [];
  const finish = agent === run.root ? runFinished(run, agent, result) : [];
  const appended = run.append([...below, ...closing, ...delivery, ...finish]);
  agent.isEnding = true;
  agent.closing = appended;
  ended.push(agent);
  if (delivery.length > 0) agent.parent?.willSettle(deliveredBy(appended));
  // Nobody acts on a result that is not on disk: inside a run, the parent's next append sees to it.
  if (agent.parent === null) await appended;
  agent.giveSlot();
  agent.closed(result);
  await appended;
}

/** Nothing that bears the id of a closed delegation may still run. */
function holders(agent: Agent): readonly Agent[] {
  const below = agent.children?.flatMap(holders) ?? [];
  return agent.holdsProcesses && !agent.isEnding ? [agent, ...below] : below;
}

async function release(agent: Agent): Promise<void> {
  await agent.run.parts.release(agent.id).catch(() => undefined);
}

function isRace(error: unknown): boolean {
  return error instanceof MandateError && error.code === "illegal-transition";
}

/** Brings agents to what the log says of them: closed by somebody else, or open as they were. */
async function followLog(agents: readonly Agent[], cause: unknown): Promise<void> {
  for (const agent of agents) {
    const { run } = agent;
    const state = await run.parts.store.readRun(run.id);
    if (state?.fence !== run.ownership.fence) throw cause;
    const delegation = state.delegations.get(agent.id);
    const result = resultOf(state, agent.id);
    if (result) {
      agent.isEnding = true;
      agent.closed(result);
    } else if (delegation) {
      await reload(agent, delegation);
    }
  }
}

function deliveredBy(appended: Promise<unknown>): Promise<unknown> {
  const delivered = appended.catch(notDelivered);
  // A parent that has ended looks at it no more.
  delivered.catch(() => undefined);
  return delivered;
}

/** The parent had gone on with a result that was then not accepted: it starts from its log again. */
function notDelivered(cause: unknown): never {
  // Without a store there is no log to start from.
  if (cause instanceof MandateError && cause.code === "closed") throw cause;
  throw new MandateError("conflict", "A result that was handed over was not accepted.", { cause });
}

/** The closing events of a whole open subtree, children before parents. */
function closeBelow(agent: Agent, cause: Ending, ended: Agent[]): NewEvent[] {
  if (agent.isEnding) return [];
  const below = agent.children?.flatMap((child) => closeBelow(child, cause, ended)) ?? [];
  const code: CloseReason =
    cause.kind === "failure" && cause.code === "cancelled" ? "cancelled" : "parent_closed";
  const ending = failure(
    code,
    code === "cancelled" ? "Its caller was cancelled." : "Its caller ended before it did.",
  );
  const accepted = { ending, path: undefined };
  const [closing, result] = conclude(agent, accepted);
  const events = [...below, ...closing];
  agent.isEnding = true;
  ended.push(agent);
  agent.stop(code, result.result);
  agent.closed(result);
  return events;
}

interface Accepted {
  readonly ending: Ending;
  readonly path: string | undefined;
  readonly artifact?: ArtifactReference | undefined;
  /** It finished its work, and that was not accepted. */
  readonly rejected?: { readonly code: CloseReason; readonly error: string };
}

/** Outcome is not acceptance: a report without the evidence its contract asks for is refused. */
async function integrate(agent: Agent, ending: Ending): Promise<Accepted> {
  if (ending.kind === "failure") return { ending, path: undefined };
  if (agent.contract.exit.evidence === "tool_calls" && agent.toolCalls === 0) {
    const error = "The contract asks for evidence, and not a single tool call was completed.";
    return { ending, path: undefined, rejected: { code: "exit_rule_unmet", error } };
  }
  const [path, artifact] = [reportPath(agent, ending.text), largeOutput(agent, ending.text)];
  // Most ends have neither, and need not wait.
  if (path === undefined && artifact === undefined) return { ending, path: undefined };
  return { ending, path: await path, artifact: await artifact };
}

/** A result that its caller will not take in whole is kept where it can be looked into. */
function largeOutput(agent: Agent, text: string): Promise<ArtifactReference> | undefined {
  const limit = agent.parent?.contract.join.max_tokens ?? Number.POSITIVE_INFINITY;
  return fits(text, limit) ? undefined : agent.run.parts.store.keepArtifact(text);
}

function reportPath(agent: Agent, text: string): Promise<string | undefined> | undefined {
  return agent.contract.outputs.report_path_pattern === null || agent.workspace === null
    ? undefined
    : writeReport(agent, text);
}

/** The events that end a delegation, and its result: both hold the same seal. */
function conclude(
  agent: Agent,
  accepted: Accepted,
): [events: NewEvent[], result: DelegationResult] {
  const { ending, path, rejected } = accepted;
  const events: NewEvent[] = [...openCallEvents(agent)];
  if (agent.reservation > 0) events.push(settled(agent, agent.reservation, 0, 0, true));
  const seal = sealOf(agent, ending.kind === "output" ? ending.text : null);
  const result = resultFor(agent, accepted, seal);
  if (ending.kind === "output" && agent.status !== "waiting_for_merge") {
    events.push(
      event(agent, "agent.subagent_waiting_for_merge", {
        output: ending.text,
        output_hash: seal.output_hash ?? "",
        ...(path !== undefined && { output_path: path }),
        ...(ending.truncated && { truncated: true as const }),
        ...(ending.reason !== null && { reason: ending.reason }),
        ...(accepted.artifact && { artifact: accepted.artifact }),
      }),
    );
  }
  const reason = result.closeReason;
  const finalStatus = result.status === "completed" ? "completed" : "failed";
  events.push(
    finalStatus === "completed"
      ? event(agent, "agent.subagent_completed", { integrator: "report", reason })
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

/** A call that was under way has an end in the log, even if nobody will ever know how it went. */
function* openCallEvents(agent: Agent): Generator<NewEvent> {
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
}

function sealOf(agent: Agent, output: string | null): Seal {
  return {
    summary: output === null ? "" : oneLine(output),
    output_hash: output === null ? null : sha256(output),
    usage: agent.usage,
    turns: agent.turns,
    tool_calls: agent.toolCalls,
    attempts: agent.attempt,
    served: agent.served,
    ...(agent.files && { files: agent.files }),
  };
}

function resultFor(
  agent: Agent,
  { ending, rejected, artifact }: Accepted,
  seal: Seal,
): DelegationResult {
  const final = ending.kind === "output" && !rejected ? "completed" : "failed";
  const reason =
    rejected?.code ??
    (ending.kind === "failure" ? ending.code : (ending.reason ?? "report_accepted"));
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
  return resultFor(agent, { ending, path: undefined }, sealOf(agent, null));
}

/**
 * The run ends with its root. It succeeded when the root did and no child's failure was passed
 * over: every failed child's result must have reached the agent that delegated to it.
 */
function runFinished(
  run: LiveRun,
  root: Agent | null,
  result: DelegationResult | null,
): NewEvent[] {
  run.finished = true;
  const overlooked = [...run.agents.values()].filter(
    (agent) => agent !== root && agent.result?.status !== "completed" && !hasArrived(agent),
  );
  const failed = result !== null && result.status !== "completed";
  const reason = failed
    ? `${result.closeReason}: ${oneLine(result.result)}`
    : overlooked.length > 0
      ? `the failure of ${overlooked.map(({ id }) => id).join(", ")} never reached its caller`
      : "every delegation is closed";
  const outcome = failed || overlooked.length > 0 ? "failed" : "succeeded";
  return [{ type: "run.finished", payload: { outcome, reason } }];
}

/** With the failure of an agent that was told its caller, what fell with it is told as well. */
function hasArrived(agent: Agent): boolean {
  const { delivered } = agent.run;
  for (let one: Agent | null = agent; one !== null; one = one.parent) {
    if (one.result?.status !== "completed" && delivered.has(one.id)) return true;
  }
  return false;
}

/** A breadcrumb's length: enough to recognise, too short to flood. */
function oneLine(text: string): string {
  const flat = text.slice(0, 1000).replace(/\s+/g, " ").trim();
  return flat.length > 240 ? `${flat.slice(0, 239)}…` : flat;
}
