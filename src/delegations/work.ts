import { externalProvider } from "../contracts/contract.ts";
import type { Cause } from "../events/cause.ts";
import { owns } from "../events/check-owner.ts";
import type { Delegation } from "../events/delegation.ts";
import type { EventPayloads } from "../events/event.ts";
import type { CancelOutcome } from "../ports/delegator.ts";
import { MandateError } from "../ports/mandate-error.ts";
import { messageOf } from "../ports/message-of.ts";
import { resultOf } from "../sessions/delegation-result.ts";
import { retireCopy } from "./changes/take-over.ts";
import { drive, watchOnce } from "./drive.ts";
import { closeWith } from "./ends/close.ts";
import { failedResult, unwrittenBy } from "./ends/closing-events.ts";
import { type Ending, failure, type OutputEnding, Stopped, Suspended } from "./ends/ending.ts";
import { endTime, event, isWatcher, type LiveDelegation, outputOf } from "./live-delegation.ts";
import type { Execution } from "./live-run.ts";
import { reload } from "./recovery/hydrate.ts";
import { hasServers } from "./turns/prompt.ts";
import { settledIfOpen } from "./turns/request-model.ts";
import { watch } from "./watchers.ts";

/** Works on a delegation as soon as there is a slot. */
export function queue(live: LiveDelegation): void {
  const { laneOf, scheduler } = live.run.parts;
  // A watcher mostly waits, and must not take a slot from those that it watches.
  if (isWatcher(live)) {
    void work(live);
    return;
  }
  const lane = laneOf?.(live.contract) ?? "";
  scheduler.enter(() => {
    if (live.process.end.isEnding || live.work.isParked || live.run.lost) {
      scheduler.leave(lane);
      return;
    }
    live.process.time.hasSlot = true;
    void work(live);
  }, lane);
}

/**
 * From the slot to the close: attempt after attempt, turn after turn, then what `endWork` decides.
 * It continues what the log says, so a new delegation and a recovered one are the same to it.
 */
async function work(live: LiveDelegation): Promise<void> {
  const { contract, id, parent, process, run } = live;
  const { delegation: around } = run.parts.middleware;
  process.time.begin();
  try {
    if (around === undefined) await attempts(live);
    else {
      const { depth } = contract.parent;
      const about = { runId: run.id, delegationId: id, parentId: parent?.id ?? null, depth };
      await around({ ...about, contract }, () => attempts(live));
      if (!process.end.isEnding) throw new Stopped({ code: "middleware_ended" });
    }
  } catch (error) {
    await endWork(live, error);
  } finally {
    process.time.giveSlot();
  }
}

function attempts(live: LiveDelegation): Promise<void> {
  beginWork(live);
  return isWatcher(live) ? watch(live, watchOnce) : drive(live);
}

/** Begins the first attempt, unless the log has one. */
function beginWork(live: LiveDelegation): void {
  if (live.state.status !== "created") return;
  const of = live.contract.execution.max_retries + 1;
  live.record(
    event(live, "agent.subagent_started", startedWith(live)),
    event(live, "agent.subagent_attempt", { attempt: 1, of }),
  );
}

function startedWith({ copy, workspace }: LiveDelegation): EventPayloads["agent.subagent_started"] {
  const strategy = workspace?.isolation ?? "none";
  if (copy === null) return { strategy };
  const branch = `mandate/${copy.id}`;
  return { strategy, worktree_path: copy.root, branch, base_ref: copy.base };
}

/** Closes a delegation whose output was handed in before, and not accepted or rejected yet. */
export async function finish(live: LiveDelegation, output: OutputEnding): Promise<void> {
  live.process.time.beginEnd();
  try {
    await closeWith(live, output);
  } catch (error) {
    await endWork(live, error);
  }
}

/** Closes or suspends a delegation whose work was ended by this error, or is not under way. */
export async function endWork(live: LiveDelegation, cause: unknown): Promise<void> {
  const { suspension, isParked, stopReason } = live.work;
  if (live.process.end.isEnding) return;
  // If the delegation was stopped while it was being suspended, it closes for the reason of the stop.
  const error = cause instanceof Suspended ? (stopReason ?? cause) : cause;
  if (wasRefused(error)) return followLog(live);
  try {
    if (wasNotWritten(error)) await reloadTree(live, error);
    else if (suspension && !isParked) return await park(live, suspension);
    await closeWith(live, endingOf(error, live));
  } catch (refusal) {
    if (wasRefused(refusal)) return followLog(live);
    // A changed contract is found at the close, and is then the reason of the close.
    if (isTampering(refusal) && !isTampering(error)) return endWork(live, refusal);
    giveUp(live, refusal);
  }
}

/**
 * Suspends a delegation whose work has been left: as after a crash, except that it reserves nothing.
 * A request that was under way is settled as an estimate; calls that were cut stay open.
 */
async function park(live: LiveDelegation, suspension: Suspended): Promise<void> {
  const { appends, holdsProcesses } = live.process;
  // Work that is handed in waits for its merge, as before.
  const pauses = suspension.closesAs === null && outputOf(live) === null;
  if (pauses) beginWork(live);
  live.record(...settledIfOpen(live));
  if (pauses) live.record(event(live, "agent.paused", { reason: "interrupt" }));
  suspension.isAtRest = true;
  endTime(live);
  if (holdsProcesses || hasServers(live)) {
    await live.run.parts.release(live.id).catch(() => undefined);
  }
  await appends.durable();
  live.run.changed.notify();
}

/** The failure that an error in a delegation's work means. */
function endingOf(error: unknown, { run }: LiveDelegation): Ending {
  if (error instanceof Stopped) return failure(error.cause);
  const text = messageOf(error);
  const known = error instanceof MandateError ? failures[error.code] : undefined;
  if (known !== undefined) return failure({ code: known, text });
  const code = run.parts.middleware.delegation ? "middleware_failed" : "unexpected_error";
  return failure({ code, text });
}

const failures: Partial<
  Record<MandateError["code"], "storage_full" | "contract_invalid" | "store_failed">
> = {
  "storage-full": "storage_full",
  "contract-invalid": "contract_invalid",
  closed: "store_failed",
};

/** Our append was refused because of what another process had written. */
function wasRefused(error: unknown): boolean {
  return error instanceof MandateError && refusals.has(error.code);
}

const refusals: ReadonlySet<string> = new Set(["fenced", "illegal-transition", "conflict"]);

/** The log is right, and memory follows it; a delegation whose log cannot be read is given up. */
async function followLog(live: LiveDelegation): Promise<void> {
  try {
    await reconcile(live);
  } catch (error) {
    if (!live.process.end.isEnding) giveUp(live, error);
  }
}

async function reconcile(live: LiveDelegation): Promise<void> {
  const { id, process, run } = live;
  const state = await run.parts.store.readRun(run.id);
  const delegation = state?.delegations.get(id);
  const { ownership } = run.settings;
  // Another worker declared this process dead, so it has another name now.
  const isDead = ownership.worker !== run.parts.store.ownership.worker;
  if (!state || !delegation || isDead || !owns(ownership, state, id)) {
    run.lost = true;
    process.end.isEnding = true;
    run.changed.notify();
    return;
  }
  const result = resultOf(state, id);
  // What others wrote explains a refusal, such as a reservation that came second.
  const isExplained = state.lastRunSeq !== process.reconciledAt;
  process.reconciliations = isExplained ? 0 : process.reconciliations + 1;
  process.reconciledAt = state.lastRunSeq;
  if (result || process.reconciliations > patience) {
    process.end.isEnding = true;
    process.end.closed(result ?? failedResult(live, { code: "log_conflict" }));
    if (result) retireCopy(live);
    return;
  }
  await reload(live, delegation);
  live.record(...settledIfOpen(live));
  // The calls that come again must find the children they made.
  for (const child of process.children) {
    const callId = state.delegations.get(child.id)?.callId ?? null;
    if (callId !== null) run.delegations.byCall.set(`${id} ${callId}`, child);
  }
  const output = outputOf(live);
  await (output ? finish(live, output) : work(live));
}

/** Others write now and then; an append that is refused without end has another fault. */
const patience = 20;

/** Gives up a delegation whose end cannot be written now: the parent gets the failure, the log later. */
function giveUp(live: LiveDelegation, cause: unknown): void {
  const { parent, process, run } = live;
  // The parent must not continue with a result that is in no log: it ends for the same reason.
  parent?.process.appends.add(Promise.reject(cause));
  abandon(live, cause);
  // All below a delegation end with it. The agent of another program continues, and does not.
  const isTopmost =
    parent === null ||
    run.execution.isRemote(parent) ||
    parent.contract.model.provider === externalProvider;
  if (isTopmost && process.end.result !== null) run.parts.unwritten.add(live, unwrittenBy(cause));
}

/** None of a tree whose end could not be written continues, or keeps the process from ending. */
function abandon(live: LiveDelegation, cause: unknown): void {
  const { process, run } = live;
  const { abandoned, root, topLevel } = run.delegations;
  process.end.isEnding = true;
  // Watchers end with the root, as when its end is written.
  for (const child of [...process.children, ...(live === root ? topLevel : [])]) {
    if (child.process.end.isEnding || run.execution.isRemote(child)) continue;
    child.work.stop({ code: "store_failed", text: messageOf(cause) });
    abandon(child, cause);
  }
  abandoned.push(live);
  process.end.closed(failedResult(live, unwrittenBy(cause)));
}

/** The disk is full or broken, or the contract is not the one that the delegation was created with. */
export function wasNotWritten(error: unknown): boolean {
  return error instanceof MandateError && notWritten.has(error.code);
}

const notWritten: ReadonlySet<string> = new Set([
  ...["storage-full", "database-unusable", "contract-invalid"],
]);

function isTampering(error: unknown): boolean {
  return error instanceof MandateError && error.code === "contract-invalid";
}

/** What could not be written did not happen: before it is closed, a tree forgets it. */
async function reloadTree(live: LiveDelegation, cause: unknown): Promise<void> {
  const delegation = await storedDelegation(live);
  // The creation of the delegation was never written, so there is nothing to close.
  if (delegation === undefined) throw cause;
  for (const child of live.process.children) {
    if (child.process.end.isEnding || live.run.execution.isRemote(child)) continue;
    await reloadTree(child, cause);
  }
  await reload(live, delegation);
  // Calls that are still under way must not change what the close is decided from.
  live.process.appends.breakOff(cause);
}

/** What could not be written did not happen: the agent of another program continues without it. */
export async function forgetUnwritten(live: LiveDelegation): Promise<void> {
  if (!wasNotWritten(live.process.appends.refusal)) return;
  const delegation = await storedDelegation(live);
  if (delegation !== undefined) await reload(live, delegation);
}

async function storedDelegation({ id, run }: LiveDelegation): Promise<Delegation | undefined> {
  return (await run.parts.store.readRun(run.id))?.delegations.get(id);
}

/**
 * Cancels a delegation that this process works on, and everything below it. It is acknowledged
 * when the log says so; from then on nothing in that subtree begins.
 */
export async function cancelLive(live: LiveDelegation, cause: Cause): Promise<CancelOutcome> {
  const { end } = live.process;
  // The delegation already ends: by another cancel, a deadline, or its own end.
  if (end.isEnding || live.work.stopReason !== null) {
    await end.whenClosed();
    await end.closing?.catch(() => undefined);
    return "already_terminal";
  }
  live.work.stop(cause);
  // A merge comes to its end first; the delegation has closed by itself then, or can be closed.
  await end.merging?.promise;
  try {
    await closeWith(live, failure(cause));
    await end.closing;
  } catch (error) {
    // The work of this delegation has been left: it ends here, now or as soon as possible.
    await endWork(live, error);
    if (live.run.delegations.abandoned.includes(live)) throw error;
  }
  return end.result?.closeReason === "cancelled" ? "cancelled" : "already_terminal";
}

/** The execution of a run that one process owns and works on completely. */
export const localExecution: Execution = {
  recorded: { run: () => ({}), delegation: () => ({}) },
  log: null,
  here: null,
  begin(live) {
    if (!live.run.isHeld) queue(live);
    return undefined;
  },
  cancel: cancelLive,
  isRemote: () => false,
  loadAll: () => undefined,
};
