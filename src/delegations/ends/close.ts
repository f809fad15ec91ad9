import { externalProvider } from "../../contracts/contract.ts";
import type { Cause } from "../../events/cause.ts";
import { owns } from "../../events/check-owner.ts";
import { isOpen } from "../../events/delegation.ts";
import type { NewEvent } from "../../events/event.ts";
import type { DelegationResult } from "../../ports/delegator.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import { resultOf } from "../../sessions/delegation-result.ts";
import { fits } from "../../tools/delegation/delegation-call.ts";
import { GitFailure, RepositoryRefused } from "../../workspaces/git/git-failure.ts";
import { endMerging, retireCopy, takeOver, writeReport } from "../changes/take-over.ts";
import { findTool } from "../delegation-process.ts";
import {
  endTime,
  isForCaller,
  isWatcher,
  type LiveDelegation,
  openChildren,
  outputOf,
} from "../live-delegation.ts";
import { lateResult } from "../live-run.ts";
import { reload } from "../recovery/hydrate.ts";
import { cancelRemote } from "./cancel-stored.ts";
import {
  type Accepted,
  conclude,
  failedBy,
  judgePlan,
  outputEvent,
  runFinished,
  summaryOf,
  unfinished,
  watched,
} from "./closing-events.ts";
import {
  type Ending,
  failure,
  failureBy,
  isCancelled,
  type OutputEnding,
  type Rejection,
  Stopped,
} from "./ending.ts";

/** A close is tried again so often; each time another process had closed some part of it. */
const patience = 50;

/**
 * Closes a delegation: merges its work or fails it, seals it, closes it, and delivers its result to
 * its caller, in one transaction. Open delegations below it are closed first. If another process has
 * closed some of them since, the rest is closed from what the log says then.
 */
export async function closeWith(agent: LiveDelegation, ending: Ending): Promise<void> {
  for (let tries = 1; ; tries++) {
    if (agent.process.end.isEnding) return;
    const ended: LiveDelegation[] = [];
    try {
      return await closeOnce(agent, ending, ended);
    } catch (error) {
      // A close that was refused did not happen.
      for (const { process } of ended) process.end.reopen();
      if (!isRace(error) || tries >= patience) throw error;
      await followLog(ended, error);
      // Nothing below it was closed elsewhere: the caller of this function starts from the log again.
      if (!agent.process.end.isEnding && ended.length <= 1) throw error;
    }
  }
}

async function closeOnce(
  agent: LiveDelegation,
  ending: Ending,
  ended: LiveDelegation[],
): Promise<void> {
  if (agent.run.delegations.abandoned.length > 0) await readmit(agent);
  const rejected = ending.kind === "output" ? objectionTo(agent, ending) : undefined;
  const settling =
    ending.kind === "output" && rejected === undefined
      ? untilChildrenClosed(agent, ending)
      : untilMerged(agent);
  if (settling) await settling;
  const { delegations, execution } = agent.run;
  if (execution.log !== null) await cancelRemoteChildren(agent, ending);
  const holding = holders(agent);
  if (holding.length > 0) await Promise.all(holding.map(release));
  const accepted =
    ending.kind === "output" && rejected === undefined
      ? await integrate(agent, ending)
      : { ending, ...(rejected && { rejected }) };
  if (accepted === null) return;
  const reading = agent === delegations.root ? execution.loadAll(agent) : undefined;
  if (reading) await reading;
  if (agent.process.end.isEnding && accepted.merge && !accepted.rejected) noteLateMerge(agent);
  try {
    await append(agent, accepted, ended);
  } catch (error) {
    if (accepted.merge && !accepted.rejected) agent.process.end.wasMerged = true;
    throw error;
  } finally {
    // Not earlier: until its close is written, its caller must not close.
    if (accepted.merge) endMerging(agent);
  }
}

async function append(
  agent: LiveDelegation,
  accepted: Accepted,
  ended: LiveDelegation[],
): Promise<void> {
  if (agent.process.end.isEnding) return;
  const { run } = agent;
  const below = agent.process.children.flatMap((one) => closeBelow(one, accepted.ending, ended));
  const [closing, concluded] = conclude(agent, accepted);
  // The parent that waits gets the result in the transaction that closes the child: once, or never.
  const delivery = agent.process.end.deliver?.(concluded) ?? [];
  const isLast = agent === run.delegations.root;
  // Watchers live as long as what they watch, and the run ends when all have.
  const watchers = isLast
    ? run.delegations.topLevel.flatMap((one) => closeWatcher(one, ended))
    : [];
  const finished = isLast ? runFinished(run, agent, failedBy(accepted)?.cause) : undefined;
  const result = finished ? { ...concluded, outcome: finished.payload.outcome } : concluded;
  const finish = finished ? [finished] : [];
  const late = isDetached(agent, result)
    ? [lateResult(agent, { code: "caller_was_interrupted" })]
    : [];
  const appended = run.append([...below, ...watchers, ...closing, ...delivery, ...late, ...finish]);
  agent.process.end.begin(closing);
  agent.process.end.closing = appended;
  ended.push(agent);
  if (delivery.length > 0) agent.parent?.process.appends.add(deliveredBy(appended));
  // No result is used before it is on disk: inside a run, the next append of the parent waits for it.
  if (agent.parent === null) await appended;
  agent.process.time.giveSlot();
  agent.process.end.closed(result);
  await appended;
  for (const one of ended) retireCopy(one);
}

/** Delegations below it whose own closes could not be written are open in the log: they close with it. */
async function readmit(agent: LiveDelegation): Promise<void> {
  const { id, parts } = agent.run;
  const { abandoned, root } = agent.run.delegations;
  const state = await parts.store.readRun(id);
  for (const one of [...abandoned]) {
    if (agent !== root && !isBelow(one, agent)) continue;
    abandoned.splice(abandoned.indexOf(one), 1);
    const delegation = state?.delegations.get(one.id);
    if (delegation === undefined || !isOpen(delegation)) continue;
    one.process.end.reopen();
    await reload(one, delegation);
    one.process.appends.breakOff(one.work.stopReason ?? new Stopped({ code: "end_not_written" }));
  }
}

export function isBelow({ parent }: LiveDelegation, agent: LiveDelegation): boolean {
  return parent !== null && (parent === agent || isBelow(parent, agent));
}

/** It continued after its caller had stopped. */
function isDetached({ parent }: LiveDelegation, { closeReason }: DelegationResult): boolean {
  return parent?.work.isInterrupted === true && closeReason !== "cancelled";
}

/**
 * An answer does not close background children: the delegation closes after them, and their work is
 * merged in the order of their steps. Its own deadline stops here.
 */
function untilChildrenClosed(
  agent: LiveDelegation,
  ending: OutputEnding,
): Promise<unknown> | undefined {
  const open = openChildren(agent);
  if (open.length === 0) return undefined;
  // The agent of another program does not answer: its session was closed, and its children end.
  const isExternal = agent.contract.model.provider === externalProvider;
  const isEnd = isExternal || agent.run.parts.endsWithAnswer?.(agent.id) === true;
  return isEnd ? endUnfinished(agent, open) : waitFor(agent, ending, open);
}

/** No delegation outlives its caller. The worker of a remote child reads in the log that it closed. */
async function cancelRemoteChildren(
  { process, run }: LiveDelegation,
  ending: Ending,
): Promise<void> {
  const code = isCancelled(ending) ? "caller_cancelled" : "caller_closed";
  for (const child of process.children) {
    const isOpenThere = !child.process.end.isEnding && run.execution.isRemote(child);
    if (isOpenThere) await cancelRemote(child, { code });
  }
}

/** Work that was handed in is merged, in its turn; children that still work close with their caller. */
async function endUnfinished(
  agent: LiveDelegation,
  open: readonly LiveDelegation[],
): Promise<void> {
  const done = open.filter((child) => child.copy !== null && outputOf(child) !== null);
  if (done.length === 0) return untilMerged(agent);
  endTime(agent);
  const { execution } = agent.run;
  for (const child of open) {
    if (!done.includes(child) && !execution.isRemote(child)) await closeWith(child, tooEarly);
  }
  await cancelRemoteChildren(agent, tooEarly);
  for (const { contract } of done) agent.process.merges?.callFor(contract.parent.step_idx);
  await agent.work.interruptible(Promise.all(done.map(({ process }) => process.end.whenClosed())));
}

async function waitFor(
  agent: LiveDelegation,
  ending: OutputEnding,
  open: readonly LiveDelegation[],
): Promise<void> {
  endTime(agent);
  const isEarly = agent.state.status === "running" && !isForCaller(agent);
  if (isEarly) {
    const running = open.map(({ id }) => id);
    await handIn(agent, { ...(await keep(agent, ending)), running }, ending);
  }
  if (outputOf(agent) !== null) agent.process.end.answered(conclude(agent, { ending })[1]);
  const { merges } = agent.process;
  for (const { contract } of open) merges?.callFor(contract.parent.step_idx);
  await agent.work.interruptible(Promise.all(open.map(({ process }) => process.end.whenClosed())));
}

function mergesBelow(agent: LiveDelegation): Promise<void>[] {
  const below = agent.process.children.flatMap(mergesBelow);
  return agent.process.end.merging ? [agent.process.end.merging.promise, ...below] : below;
}

/** Merges under way below it are completed; after one, the turn of the next may have come. */
function untilMerged(agent: LiveDelegation): Promise<void> | undefined {
  const merging = mergesBelow(agent);
  return merging.length === 0 ? undefined : Promise.all(merging).then(() => untilMerged(agent));
}

const tooEarly = failure({ code: "caller_closed" });

/** No process of a closed delegation may still run. */
function holders(agent: LiveDelegation): readonly LiveDelegation[] {
  const below = agent.process.children.flatMap(holders);
  return agent.process.holdsProcesses && !agent.process.end.isEnding ? [agent, ...below] : below;
}

async function release(agent: LiveDelegation): Promise<void> {
  await agent.run.parts.release(agent.id).catch(() => undefined);
}

function isRace(error: unknown): boolean {
  return error instanceof MandateError && error.code === "illegal-transition";
}

/** Resets delegations to the log: closed by another process, or open as before. */
async function followLog(agents: readonly LiveDelegation[], cause: unknown): Promise<void> {
  for (const agent of agents) {
    const { run } = agent;
    const state = await run.parts.store.readRun(run.id);
    if (state === undefined || !owns(run.settings.ownership, state, agent.id)) throw cause;
    const delegation = state.delegations.get(agent.id);
    const result = resultOf(state, agent.id);
    if (result) {
      agent.process.end.isEnding = true;
      agent.process.end.closed(result);
      if (agent.process.end.wasMerged) noteLateMerge(agent);
      retireCopy(agent);
    } else if (delegation) {
      await reload(agent, delegation);
    }
  }
}

function deliveredBy(appended: Promise<unknown>): Promise<unknown> {
  const delivered = appended.catch(notDelivered);
  // A parent that has closed does not look at it.
  delivered.catch(() => undefined);
  return delivered;
}

const withoutStore: ReadonlySet<string> = new Set(["closed", "storage-full", "database-unusable"]);

/** The parent had continued with a result that was then refused: it starts from its log again. */
function notDelivered(cause: unknown): never {
  // If the store is closed or cannot write, there is no log to start from.
  if (cause instanceof MandateError && withoutStore.has(cause.code)) throw cause;
  throw new MandateError("conflict", "A result that was handed over was not accepted.", { cause });
}

/** The closing events of a whole open subtree, children before parents. */
function closeBelow(agent: LiveDelegation, cause: Ending, ended: LiveDelegation[]): NewEvent[] {
  if (agent.process.end.isEnding) return [];
  const below = agent.process.children.flatMap((child) => closeBelow(child, cause, ended));
  const ending = isCancelled(cause) ? failure({ code: "caller_cancelled" }) : tooEarly;
  return [...below, ...closeHere(agent, ending, ended, ending.cause)];
}

/** The closing events of a delegation that is stopped for it. They still have to be written. */
function closeHere(
  agent: LiveDelegation,
  ending: Ending,
  ended: LiveDelegation[],
  why: Cause,
): readonly NewEvent[] {
  const [closing, result] = conclude(agent, { ending });
  agent.process.end.begin(closing);
  ended.push(agent);
  agent.work.stop(why);
  agent.process.end.closed(result);
  return closing;
}

/** Closes a watcher whose session continues. A remark that it was about to make is lost. */
export async function endWatcher(agent: LiveDelegation): Promise<void> {
  if (agent.process.holdsProcesses) await release(agent);
  const ended: LiveDelegation[] = [];
  const closing = closeWatcher(agent, ended);
  if (closing.length === 0) return;
  agent.process.end.closing = agent.run.append(closing);
  try {
    await agent.process.end.closing;
  } catch (error) {
    // A close that was refused did not happen; another process may have closed the watcher.
    for (const { process } of ended) process.end.reopen();
    if (!isRace(error)) throw error;
    await followLog(ended, error);
  }
}

function closeWatcher(agent: LiveDelegation, ended: LiveDelegation[]): readonly NewEvent[] {
  if (agent.process.end.isEnding || !isWatcher(agent)) return [];
  const ending = agent.state.status === "created" ? tooEarly : watched(agent);
  return closeHere(agent, ending, ended, { code: "watched_closed" });
}

/** Outcome is not acceptance: a report without the evidence its contract asks for is refused. */
function objectionTo(agent: LiveDelegation, { text }: OutputEnding): Rejection | undefined {
  const lack = missingExit(agent, text) ?? missingEvidence(agent);
  if (lack !== undefined) return { cause: lack };
  // Output that was handed in was judged by the process that knew the children of its plan.
  return outputOf(agent) === null ? judgePlan(agent, text) : undefined;
}

/** Null: the work was handed in, and the worker of its caller merges it. */
async function integrate(agent: LiveDelegation, ending: OutputEnding): Promise<Accepted | null> {
  const keeping = keep(agent, ending);
  const kept = keeping instanceof Promise ? await keeping : keeping;
  if (agent.copy === null) return kept;
  if (outputOf(agent) === null) {
    const packed = await packOrRefuse(agent);
    if ("cause" in packed) return { ...kept, rejected: packed };
    await handIn(agent, { ...kept, ...packed }, ending);
  }
  if (isForCaller(agent)) {
    agent.process.end.isEnding = true;
    endTime(agent);
    agent.run.changed.notify();
    return null;
  }
  const taken = await takeOver(agent, agent.copy);
  if (kept.path !== undefined) {
    const { rejected } = taken;
    await writeReport(agent, ending.text, rejected ? failureBy(rejected) : "completed");
  }
  return { ...kept, ...taken };
}

/** Its report and, where its caller does not take all of it, its output. Most have neither. */
function keep(agent: LiveDelegation, ending: OutputEnding): Accepted | Promise<Accepted> {
  const { contract, copy, parent, run, workspace } = agent;
  const hasReport = contract.outputs.report_path_pattern !== null && workspace !== null;
  const isLarge = !fits(ending.text, parent?.contract.join.max_tokens ?? Number.POSITIVE_INFINITY);
  if (!hasReport && !isLarge) return { ending };
  // Changes in a copy count when they are merged; until then the report says that they do not.
  const state = copy === null ? "completed" : "handed in";
  const report = hasReport ? writeReport(agent, ending.text, state) : undefined;
  // A result that its caller does not take in whole is kept where it can be searched.
  const body = isLarge ? run.parts.store.keepArtifact(ending.text) : undefined;
  return Promise.all([report, body]).then(([path, artifact]) => ({ ending, path, artifact }));
}

/** Also when budget or turns ran out, an output needs the exit tool and the review of its contract. */
function missingExit(agent: LiveDelegation, said: string): Cause | undefined {
  const { contract } = agent;
  const { transcript } = agent.said;
  const { review, tools } = contract.exit;
  const text = summaryOf(said);
  if (tools.length > 0 && transcript.exit === null) return { code: "exit_missing", tools, text };
  if (review !== undefined && !findTool(agent, transcript.exitTool ?? "")?.mayComeBack) {
    return { code: "review_missing", profile: review.profile, text };
  }
  return undefined;
}

function missingEvidence({
  contract,
  copy,
  said: { evidence },
}: LiveDelegation): Cause | undefined {
  const asked = contract.exit.evidence;
  const isLacking =
    (asked === "tool_calls" && evidence.toolCalls === 0) ||
    // Files in a copy are checked when they are merged.
    (asked === "files" && copy === null && !evidence.changedFiles);
  return isLacking ? { code: "evidence_missing", evidence: asked } : undefined;
}

/** The changes for a worker on another machine, or the reason why they cannot be packed. */
async function packOrRefuse(agent: LiveDelegation): Promise<Pick<Accepted, "bundle"> | Rejection> {
  try {
    return { bundle: await agent.run.execution.transport?.packWork(agent) };
  } catch (error) {
    if (!(error instanceof RepositoryRefused) && !(error instanceof GitFailure)) throw error;
    return { cause: { code: "changes_not_packed", text: error.message } };
  }
}

/** The output is in the log before the merge begins: after a crash, the merge is repeated. */
async function handIn(
  agent: LiveDelegation,
  accepted: Accepted,
  ending: OutputEnding,
): Promise<void> {
  agent.record(...unfinished(agent), outputEvent(agent, accepted, ending));
  endTime(agent);
  agent.run.changed.notify();
  await agent.process.appends.durable();
}

/** It was closed during its merge: the log says that its changes were merged all the same. */
export function noteLateMerge(agent: LiveDelegation): void {
  const late = lateResult(agent, { code: "merged_before_end" });
  void agent.run.append([late]).catch(() => undefined);
}
