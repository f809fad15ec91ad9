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
export async function closeWith(live: LiveDelegation, ending: Ending): Promise<void> {
  for (let tries = 1; ; tries++) {
    if (live.process.end.isEnding) return;
    const ended: LiveDelegation[] = [];
    try {
      return await closeOnce(live, ending, ended);
    } catch (error) {
      // A close that was refused did not happen.
      for (const { process } of ended) process.end.reopen();
      if (!isRace(error) || tries >= patience) throw error;
      await followLog(ended, error);
      // Nothing below it was closed elsewhere: the caller of this function starts from the log again.
      if (!live.process.end.isEnding && ended.length <= 1) throw error;
    }
  }
}

async function closeOnce(
  live: LiveDelegation,
  ending: Ending,
  ended: LiveDelegation[],
): Promise<void> {
  if (live.run.delegations.abandoned.length > 0) await readmit(live);
  const rejected = ending.kind === "output" ? objectionTo(live, ending) : undefined;
  const settling =
    ending.kind === "output" && rejected === undefined
      ? untilChildrenClosed(live, ending)
      : untilMerged(live);
  if (settling) await settling;
  const { delegations, execution } = live.run;
  if (execution.log !== null) await cancelRemoteChildren(live, ending);
  const holding = holders(live);
  if (holding.length > 0) await Promise.all(holding.map(release));
  const accepted =
    ending.kind === "output" && rejected === undefined
      ? await integrate(live, ending)
      : { ending, ...(rejected && { rejected }) };
  if (accepted === null) return;
  const reading = live === delegations.root ? execution.loadAll(live) : undefined;
  if (reading) await reading;
  if (live.process.end.isEnding && accepted.merge && !accepted.rejected) noteLateMerge(live);
  try {
    await append(live, accepted, ended);
  } catch (error) {
    if (accepted.merge && !accepted.rejected) live.process.end.wasMerged = true;
    throw error;
  } finally {
    // The merge ends here and not earlier: until the close is written, the caller must not close.
    if (accepted.merge) endMerging(live);
  }
}

async function append(
  live: LiveDelegation,
  accepted: Accepted,
  ended: LiveDelegation[],
): Promise<void> {
  if (live.process.end.isEnding) return;
  const { run } = live;
  const below = live.process.children.flatMap((one) => closeBelow(one, accepted.ending, ended));
  const [closing, concluded] = conclude(live, accepted);
  // The parent that waits gets the result in the transaction that closes the child: once, or never.
  const delivery = live.process.end.deliver?.(concluded) ?? [];
  const isLast = live === run.delegations.root;
  // Watchers live as long as what they watch, and the run ends when all have.
  const watchers = isLast
    ? run.delegations.topLevel.flatMap((one) => closeWatcher(one, ended))
    : [];
  const finished = isLast ? runFinished(run, live, failedBy(accepted)?.cause) : undefined;
  const result = finished ? { ...concluded, outcome: finished.payload.outcome } : concluded;
  const finish = finished ? [finished] : [];
  const late = isDetached(live, result)
    ? [lateResult(live, { code: "caller_was_interrupted" })]
    : [];
  const appended = run.append([...below, ...watchers, ...closing, ...delivery, ...late, ...finish]);
  live.process.end.begin(closing);
  live.process.end.closing = appended;
  ended.push(live);
  if (delivery.length > 0) live.parent?.process.appends.add(deliveredBy(appended));
  // No result is used before it is on disk: inside a run, the next append of the parent waits for it.
  if (live.parent === null) await appended;
  live.process.time.giveSlot();
  live.process.end.closed(result);
  await appended;
  for (const one of ended) {
    retireCopy(one);
    if (one.contract.runner !== undefined) void one.run.parts.programs?.forget(one.id);
  }
}

/** Delegations below it whose own closes could not be written are open in the log: they close with it. */
async function readmit(live: LiveDelegation): Promise<void> {
  const { id, parts } = live.run;
  const { abandoned, root } = live.run.delegations;
  const state = await parts.store.readRun(id);
  for (const one of [...abandoned]) {
    if (live !== root && !isBelow(one, live)) continue;
    abandoned.splice(abandoned.indexOf(one), 1);
    const delegation = state?.delegations.get(one.id);
    if (delegation === undefined || !isOpen(delegation)) continue;
    one.process.end.reopen();
    await reload(one, delegation);
    one.process.appends.breakOff(one.work.stopReason ?? new Stopped({ code: "end_not_written" }));
  }
}

export function isBelow({ parent }: LiveDelegation, live: LiveDelegation): boolean {
  return parent !== null && (parent === live || isBelow(parent, live));
}

/** Whether the delegation continued after its caller had stopped. */
function isDetached({ parent }: LiveDelegation, { closeReason }: DelegationResult): boolean {
  return parent?.work.isInterrupted === true && closeReason !== "cancelled";
}

/**
 * An answer does not close background children: the delegation closes after them, and their work is
 * merged in the order of their steps. Its own deadline stops here.
 */
function untilChildrenClosed(
  live: LiveDelegation,
  ending: OutputEnding,
): Promise<unknown> | undefined {
  const open = openChildren(live);
  if (open.length === 0) return undefined;
  // The agent of another program does not answer: its session was closed, and its children end.
  const isExternal = live.contract.model.provider === externalProvider;
  const isEnd = isExternal || live.run.parts.endsWithAnswer?.(live.id) === true;
  return isEnd ? endUnfinished(live, open) : waitFor(live, ending, open);
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
async function endUnfinished(live: LiveDelegation, open: readonly LiveDelegation[]): Promise<void> {
  const done = open.filter((child) => child.copy !== null && outputOf(child) !== null);
  if (done.length === 0) return untilMerged(live);
  endTime(live);
  const { execution } = live.run;
  for (const child of open) {
    if (!done.includes(child) && !execution.isRemote(child)) await closeWith(child, tooEarly);
  }
  await cancelRemoteChildren(live, tooEarly);
  for (const { contract } of done) live.process.merges?.callFor(contract.parent.step_idx);
  await live.work.interruptible(Promise.all(done.map(({ process }) => process.end.whenClosed())));
}

async function waitFor(
  live: LiveDelegation,
  ending: OutputEnding,
  open: readonly LiveDelegation[],
): Promise<void> {
  endTime(live);
  const isEarly = live.state.status === "running" && !isForCaller(live);
  if (isEarly) {
    const running = open.map(({ id }) => id);
    await handIn(live, { ...(await keep(live, ending)), running }, ending);
  }
  if (outputOf(live) !== null) live.process.end.answered(conclude(live, { ending })[1]);
  const { merges } = live.process;
  for (const { contract } of open) merges?.callFor(contract.parent.step_idx);
  await live.work.interruptible(Promise.all(open.map(({ process }) => process.end.whenClosed())));
}

function mergesBelow(live: LiveDelegation): Promise<void>[] {
  const below = live.process.children.flatMap(mergesBelow);
  return live.process.end.merging ? [live.process.end.merging.promise, ...below] : below;
}

/** Merges under way below it are completed; after one, the turn of the next may have come. */
function untilMerged(live: LiveDelegation): Promise<void> | undefined {
  const merging = mergesBelow(live);
  return merging.length === 0 ? undefined : Promise.all(merging).then(() => untilMerged(live));
}

const tooEarly = failure({ code: "caller_closed" });

/** No process of a closed delegation may still run. */
function holders(live: LiveDelegation): readonly LiveDelegation[] {
  const below = live.process.children.flatMap(holders);
  return live.process.holdsProcesses && !live.process.end.isEnding ? [live, ...below] : below;
}

async function release(live: LiveDelegation): Promise<void> {
  await live.run.parts.release(live.id).catch(() => undefined);
}

function isRace(error: unknown): boolean {
  return error instanceof MandateError && error.code === "illegal-transition";
}

/** Resets delegations to the log: closed by another process, or open as before. */
async function followLog(agents: readonly LiveDelegation[], cause: unknown): Promise<void> {
  for (const live of agents) {
    const { run } = live;
    const state = await run.parts.store.readRun(run.id);
    if (state === undefined || !owns(run.settings.ownership, state, live.id)) throw cause;
    const delegation = state.delegations.get(live.id);
    const result = resultOf(state, live.id);
    if (result) {
      live.process.end.isEnding = true;
      live.process.end.closed(result);
      if (live.process.end.wasMerged) noteLateMerge(live);
      retireCopy(live);
    } else if (delegation) {
      await reload(live, delegation);
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
function closeBelow(live: LiveDelegation, cause: Ending, ended: LiveDelegation[]): NewEvent[] {
  if (live.process.end.isEnding) return [];
  const below = live.process.children.flatMap((child) => closeBelow(child, cause, ended));
  const ending = isCancelled(cause) ? failure({ code: "caller_cancelled" }) : tooEarly;
  return [...below, ...closeHere(live, ending, ended, ending.cause)];
}

/** The closing events of a delegation that is stopped for it. They still have to be written. */
function closeHere(
  live: LiveDelegation,
  ending: Ending,
  ended: LiveDelegation[],
  why: Cause,
): readonly NewEvent[] {
  const [closing, result] = conclude(live, { ending });
  live.process.end.begin(closing);
  ended.push(live);
  live.work.stop(why);
  live.process.end.closed(result);
  return closing;
}

/** Closes a watcher whose session continues. A remark that it was about to make is lost. */
export async function endWatcher(live: LiveDelegation): Promise<void> {
  if (live.process.holdsProcesses) await release(live);
  const ended: LiveDelegation[] = [];
  const closing = closeWatcher(live, ended);
  if (closing.length === 0) return;
  live.process.end.closing = live.run.append(closing);
  try {
    await live.process.end.closing;
  } catch (error) {
    // A close that was refused did not happen; another process may have closed the watcher.
    for (const { process } of ended) process.end.reopen();
    if (!isRace(error)) throw error;
    await followLog(ended, error);
  }
}

function closeWatcher(live: LiveDelegation, ended: LiveDelegation[]): readonly NewEvent[] {
  if (live.process.end.isEnding || !isWatcher(live)) return [];
  const ending = live.state.status === "created" ? tooEarly : watched(live);
  return closeHere(live, ending, ended, { code: "watched_closed" });
}

/** Outcome is not acceptance: a report without the evidence its contract asks for is refused. */
function objectionTo(live: LiveDelegation, { text }: OutputEnding): Rejection | undefined {
  const lack = missingExit(live, text) ?? missingEvidence(live);
  if (lack !== undefined) return { cause: toolsUnaffordable(live, text) ?? lack };
  // Output that was handed in was judged by the process that knew the children of its plan.
  return outputOf(live) === null ? judgePlan(live, text) : undefined;
}

/** Null: the work was handed in, and the worker of its caller merges it. */
async function integrate(live: LiveDelegation, ending: OutputEnding): Promise<Accepted | null> {
  const keeping = keep(live, ending);
  const kept = keeping instanceof Promise ? await keeping : keeping;
  if (live.copy === null) return kept;
  if (outputOf(live) === null) {
    const packed = await packOrRefuse(live);
    if ("cause" in packed) return { ...kept, rejected: packed };
    await handIn(live, { ...kept, ...packed }, ending);
  }
  if (isForCaller(live)) {
    live.process.end.isEnding = true;
    endTime(live);
    live.run.changed.notify();
    return null;
  }
  const taken = await takeOver(live, live.copy);
  if (kept.path !== undefined) {
    const { rejected } = taken;
    await writeReport(live, ending.text, rejected ? failureBy(rejected) : "completed");
  }
  return { ...kept, ...taken };
}

/** Stores the report and, where the caller does not take all of it, the output. Most have neither. */
function keep(live: LiveDelegation, ending: OutputEnding): Accepted | Promise<Accepted> {
  const { contract, copy, parent, run, workspace } = live;
  const hasReport = contract.outputs.report_path_pattern !== null && workspace !== null;
  const isLarge = !fits(ending.text, parent?.contract.join.max_tokens ?? Number.POSITIVE_INFINITY);
  if (!hasReport && !isLarge) return { ending };
  // Changes in a copy count when they are merged; until then the report says that they do not.
  const state = copy === null ? "completed" : "handed in";
  const report = hasReport ? writeReport(live, ending.text, state) : undefined;
  // A result that its caller does not take in whole is kept where it can be searched.
  const body = isLarge ? run.parts.store.keepArtifact(ending.text) : undefined;
  return Promise.all([report, body]).then(([path, artifact]) => ({ ending, path, artifact }));
}

/** An output needs the exit tool and the review of its contract, even when budget or turns ran out. */
function missingExit(live: LiveDelegation, said: string): Cause | undefined {
  const { contract } = live;
  const { transcript } = live.said;
  const { review, tools } = contract.exit;
  const text = summaryOf(said);
  if (tools.length > 0 && transcript.exit === null) return { code: "exit_missing", tools, text };
  if (review !== undefined && !findTool(live, transcript.exitTool ?? "")?.mayComeBack) {
    return { code: "review_missing", profile: review.profile, text };
  }
  return undefined;
}

/** Whether the budget had no room for tools: that explains why the exit rule was not kept. */
function toolsUnaffordable({ contract }: LiveDelegation, said: string): Cause | undefined {
  const { budget, permissions } = contract;
  if (permissions.beyond_budget === undefined) return undefined;
  return { code: "tools_unaffordable", tokens: budget.tokens, text: summaryOf(said) };
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
async function packOrRefuse(live: LiveDelegation): Promise<Pick<Accepted, "bundle"> | Rejection> {
  try {
    return { bundle: await live.run.execution.transport?.packWork(live) };
  } catch (error) {
    if (!(error instanceof RepositoryRefused) && !(error instanceof GitFailure)) throw error;
    return { cause: { code: "changes_not_packed", text: error.message } };
  }
}

/** The output is in the log before the merge begins: after a crash, the merge is repeated. */
async function handIn(
  live: LiveDelegation,
  accepted: Accepted,
  ending: OutputEnding,
): Promise<void> {
  live.record(...unfinished(live), outputEvent(live, accepted, ending));
  endTime(live);
  live.run.changed.notify();
  await live.process.appends.durable();
}

/** Notes that a delegation was closed during its merge: the log says that the changes were merged. */
export function noteLateMerge(live: LiveDelegation): void {
  const late = lateResult(live, { code: "merged_before_end" });
  void live.run.append([late]).catch(() => undefined);
}
