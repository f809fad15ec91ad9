import type { CloseReason } from "../../events/close-reason.ts";
import { isOpen } from "../../events/delegation.ts";
import type { ArtifactReference, NewEvent } from "../../events/event.ts";
import type { DelegationResult } from "../../ports/delegator.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import { resultOf } from "../../sessions/delegation-result.ts";
import { fits } from "../../tools/delegation/fit-result.ts";
import { GitFailure } from "../../workspaces/git/git-failure.ts";
import { RepositoryRefused } from "../../workspaces/git/repository-refusal.ts";
import type { Agent } from "../agent.ts";
import { packWork } from "../changes/remote-copy-bundles.ts";
import { endMerging, retireCopy, takeOver } from "../changes/take-over.ts";
import { writeReport } from "../changes/write-report.ts";
import { reload } from "../recovery/hydrate.ts";
import {
  endChildrenElsewhere,
  isElsewhere,
  isForCaller,
  isOurs,
  leave,
} from "../spread/elsewhere.ts";
import { knowWholeRun } from "../spread/hydrate-branch.ts";
import { isWatcher, watched } from "../watchers/watch.ts";
import { type Accepted, conclude, outputEvent, summaryOf, unfinished } from "./conclude.ts";
import { type Ending, failure, type OutputEnding, Stopped, Suspended } from "./ending.ts";
import { runFinished } from "./finish-run.ts";
import { judgePlan } from "./judge-plan.ts";

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
  if (agent.run.abandoned.length > 0) await readmit(agent);
  const settling = settleBelow(agent, ending);
  if (settling) await settling;
  if (agent.run.isSpread) await endChildrenElsewhere(agent, ending);
  const holding = holders(agent);
  if (holding.length > 0) await Promise.all(holding.map(release));
  const accepted = await integrate(agent, ending);
  if (accepted === null) return;
  const { root, state } = agent.run;
  if (agent === root && state !== null) await knowWholeRun(agent.run, state);
  if (agent.isEnding && accepted.merge && !accepted.rejected) noteLateMerge(agent);
  try {
    await append(agent, accepted, ended);
  } catch (error) {
    if (accepted.merge && !accepted.rejected) agent.wasMerged = true;
    throw error;
  } finally {
    // Only here: until its end is written, its caller must not be closed over it.
    if (accepted.merge) endMerging(agent);
  }
}

async function append(agent: Agent, accepted: Accepted, ended: Agent[]): Promise<void> {
  if (agent.isEnding) return;
  const { run } = agent;
  const below = agent.children?.flatMap((child) => closeBelow(child, accepted.ending, ended)) ?? [];
  const [closing, concluded] = conclude(agent, accepted);
  // The parent that waits gets the result in the transaction that closes the child: once, or never.
  const delivery = agent.deliver?.(concluded) ?? [];
  const isLast = agent === run.root;
  // Watchers live as long as what they watch, and the run ends when all have.
  const watchers = isLast ? run.topLevel.flatMap((one) => closeWatcher(one, ended)) : [];
  const finished = isLast ? runFinished(run, agent, concluded) : undefined;
  const result = finished ? { ...concluded, outcome: finished.payload.outcome } : concluded;
  const finish = finished ? [finished] : [];
  const late = nobodyWaits(agent, result) ? [lateEnd(agent)] : [];
  const appended = run.append([...below, ...watchers, ...closing, ...delivery, ...late, ...finish]);
  agent.isEnding = true;
  agent.closing = appended;
  ended.push(agent);
  if (delivery.length > 0) agent.parent?.appends.add(deliveredBy(appended));
  // Nobody acts on a result that is not on disk: inside a run, the parent's next append sees to it.
  if (agent.parent === null) await appended;
  agent.time.giveSlot();
  agent.closed(result);
  await appended;
  for (const one of ended) retireCopy(one);
}

/** Those below whose own ends could not be written are open by the log: they end with their caller. */
async function readmit(agent: Agent): Promise<void> {
  const { abandoned, id, parts, root } = agent.run;
  const state = await parts.store.readRun(id);
  for (const one of [...abandoned]) {
    if (agent !== root && !isBelow(one, agent)) continue;
    abandoned.splice(abandoned.indexOf(one), 1);
    const delegation = state?.delegations.get(one.id);
    if (delegation === undefined || !isOpen(delegation)) continue;
    one.reopen();
    await reload(one, delegation);
    one.appends.breakOff(
      one.stopReason ?? new Stopped("worker_lost", "Its end could not be written."),
    );
  }
}

export function isBelow({ parent }: Agent, agent: Agent): boolean {
  return parent !== null && (parent === agent || isBelow(parent, agent));
}

/** It went on to its end though its caller had stopped. */
function nobodyWaits({ parent }: Agent, { closeReason }: DelegationResult): boolean {
  return parent?.isInterrupted === true && closeReason !== "cancelled";
}

function lateEnd({ id }: Agent): NewEvent {
  const detail = "its caller had been interrupted when it ended: its result is kept, not delivered";
  return { type: "run.late_result", payload: { sub_agent_id: id, detail } };
}

/**
 * Before a caller ends, merges under way below it come to their end. When it ends well, children
 * whose work is done are taken over; those that still work are not waited for.
 */
function settleBelow(agent: Agent, ending: Ending): Promise<unknown> | undefined {
  const { children, merges } = agent;
  if (children === null || merges === null || !merges.hasAny) return undefined;
  if (ending.kind === "failure") return untilMerged(agent);
  const done = children.filter((child) => child.copy !== null && child.output !== null);
  return takeOverAll(agent, done);
}

function mergesBelow(agent: Agent): Promise<void>[] {
  const below = agent.children?.flatMap(mergesBelow) ?? [];
  return agent.merging ? [agent.merging.promise, ...below] : below;
}

/** When one has come to its end, the turn of the next may have come. */
async function untilMerged(agent: Agent): Promise<void> {
  for (;;) {
    const merging = mergesBelow(agent);
    if (merging.length === 0) return;
    await Promise.all(merging);
  }
}

async function takeOverAll(agent: Agent, done: readonly Agent[]): Promise<void> {
  agent.rest();
  for (const child of agent.children ?? []) {
    if (child.isEnding || done.includes(child)) continue;
    if (!isElsewhere(child)) await closeWith(child, tooEarly);
  }
  if (agent.run.isSpread) await endChildrenElsewhere(agent, tooEarly);
  for (const { contract } of done) agent.merges?.callFor(contract.parent.step_idx);
  const all = Promise.all(done.map((child) => child.whenClosed()));
  // Who is to rest waits for nobody: those below it rest as well.
  const rest = new Promise<never>((_resolve, reject) => {
    agent.onStop((reason) => reason instanceof Suspended && reject(reason));
  });
  await Promise.race([all, rest]);
}

const tooEarly = failure("parent_closed", "Its caller ended before it did.");

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
    if (state === undefined || !isOurs(agent, state)) throw cause;
    const delegation = state.delegations.get(agent.id);
    const result = resultOf(state, agent.id);
    if (result) {
      agent.isEnding = true;
      agent.closed(result);
      if (agent.wasMerged) noteLateMerge(agent);
      retireCopy(agent);
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

const withoutStore: ReadonlySet<string> = new Set(["closed", "storage-full", "database-unusable"]);

/** The parent had gone on with a result that was then not accepted: it starts from its log again. */
function notDelivered(cause: unknown): never {
  // Without a store, or one that can write, there is no log to start from.
  if (cause instanceof MandateError && withoutStore.has(cause.code)) throw cause;
  throw new MandateError("conflict", "A result that was handed over was not accepted.", { cause });
}

/** The closing events of a whole open subtree, children before parents. */
function closeBelow(agent: Agent, cause: Ending, ended: Agent[]): NewEvent[] {
  if (agent.isEnding) return [];
  const below = agent.children?.flatMap((child) => closeBelow(child, cause, ended)) ?? [];
  const code: CloseReason =
    cause.kind === "failure" && cause.code === "cancelled" ? "cancelled" : "parent_closed";
  const ending = code === "cancelled" ? failure(code, "Its caller was cancelled.") : tooEarly;
  const [closing, result] = conclude(agent, { ending });
  const events = [...below, ...closing];
  agent.isEnding = true;
  ended.push(agent);
  agent.stop(code, result.result);
  agent.closed(result);
  return events;
}

/** Ends a watcher whose session goes on. What it was about to say is not said any more. */
export async function endWatcher(agent: Agent): Promise<void> {
  if (agent.holdsProcesses) await release(agent);
  const ended: Agent[] = [];
  const closing = closeWatcher(agent, ended);
  if (closing.length === 0) return;
  agent.closing = agent.run.append(closing);
  try {
    await agent.closing;
  } catch (error) {
    // What was not accepted has not ended; somebody else may have ended it.
    for (const one of ended) one.reopen();
    if (!isRace(error)) throw error;
    await followLog(ended, error);
  }
}

function closeWatcher(agent: Agent, ended: Agent[]): NewEvent[] {
  if (agent.isEnding || !isWatcher(agent)) return [];
  const ending = agent.status === "created" ? tooEarly : watched(agent);
  const [closing, result] = conclude(agent, { ending });
  agent.isEnding = true;
  ended.push(agent);
  agent.stop("parent_closed", "The session that it watched is over.");
  agent.closed(result);
  return closing;
}

/**
 * Outcome is not acceptance: a report without the evidence its contract asks for is refused. Null:
 * it was handed in, and is for its caller's worker to take over.
 */
async function integrate(agent: Agent, ending: Ending): Promise<Accepted | null> {
  if (ending.kind === "failure") return { ending };
  const lack = lackOfExit(agent, ending.text) ?? lackOfEvidence(agent);
  if (lack !== undefined) {
    return { ending, rejected: { code: "exit_rule_unmet", error: lack } };
  }
  // What was handed in was judged where those are known whom it called.
  const rejected = agent.output === null ? judgePlan(agent, ending.text) : undefined;
  if (rejected !== undefined) return { ending, rejected };
  const [path, artifact] = [reportPath(agent, ending.text), largeOutput(agent, ending.text)];
  // Most ends have neither, and need not wait.
  const kept =
    path === undefined && artifact === undefined
      ? { ending }
      : { ending, path: await path, artifact: await artifact };
  if (agent.copy === null) return kept;
  if (agent.output === null) {
    const bundle = await packOrRefuse(agent);
    if (typeof bundle === "string") {
      return { ...kept, rejected: { code: "merge_interrupted", error: bundle } };
    }
    await handIn(agent, { ...kept, bundle }, ending);
  }
  if (isForCaller(agent)) {
    leave(agent);
    return null;
  }
  const taken = await takeOver(agent, agent.copy);
  if (path !== undefined) await writeReport(agent, ending.text, taken.rejected ?? "completed");
  return { ...kept, ...taken };
}

/** Also when budget or turns ran out: nothing is accepted that did not end the way it has to. */
function lackOfExit({ contract, transcript }: Agent, text: string): string | undefined {
  const { review, tools } = contract.exit;
  const said = `It said last: ${summaryOf(text)}`;
  if (tools.length > 0 && transcript.exit === null) {
    return `It ended without calling ${tools.join(" or ")}. ${said}`;
  }
  if (review !== undefined && transcript.exitTool !== "submit_for_review") {
    return `What it makes has to be approved by "${review.profile}", and was not handed in for that. ${said}`;
  }
  return undefined;
}

function lackOfEvidence({ contract, copy, evidence }: Agent): string | undefined {
  const asked = contract.exit.evidence;
  if (asked === "tool_calls" && evidence.toolCalls === 0) {
    return "The contract asks for evidence, and not a single tool call was completed.";
  }
  // What is in a copy is looked at when it is taken over.
  if (asked === "files" && copy === null && !evidence.changedFiles) {
    return "The contract asks for changed files as evidence, and nothing was changed.";
  }
  return undefined;
}

/** What it changed, where others may have to fetch it; a sentence when that cannot be done. */
async function packOrRefuse(agent: Agent): Promise<ArtifactReference | string | undefined> {
  try {
    return await packWork(agent);
  } catch (error) {
    if (!(error instanceof RepositoryRefused) && !(error instanceof GitFailure)) throw error;
    return `Its changes could not be handed in: ${error.message}`;
  }
}

/** Its output is in the log before its changes are: after a crash that is where it goes on. */
async function handIn(agent: Agent, accepted: Accepted, ending: OutputEnding): Promise<void> {
  agent.record(...unfinished(agent), outputEvent(agent, accepted, ending));
  agent.status = "waiting_for_merge";
  agent.output = ending;
  agent.rest();
  agent.run.stir();
  await agent.appends.durable();
}

/** Somebody ended it while its changes were being merged: the log says that they are there. */
export function noteLateMerge({ id, run }: Agent): void {
  const detail = "its changes had been merged when it was ended";
  const payload = { sub_agent_id: id, detail };
  void run.append([{ type: "run.late_result", payload }]).catch(() => undefined);
}

/** A result that its caller will not take in whole is kept where it can be looked into. */
function largeOutput(agent: Agent, text: string): Promise<ArtifactReference> | undefined {
  const limit = agent.parent?.contract.join.max_tokens ?? Number.POSITIVE_INFINITY;
  return fits(text, limit) ? undefined : agent.run.parts.store.keepArtifact(text);
}

/** Changes in a copy count when they are merged; until then the report says that they do not. */
function reportPath(agent: Agent, text: string): Promise<string | undefined> | undefined {
  if (agent.contract.outputs.report_path_pattern === null || agent.workspace === null) {
    return undefined;
  }
  return writeReport(agent, text, agent.copy === null ? "completed" : "handed in");
}
