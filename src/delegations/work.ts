import { externalProvider } from "../contracts/contract.ts";
import { MandateError } from "../ports/mandate-error.ts";
import { messageOf } from "../ports/message-of.ts";
import { resultOf } from "../sessions/delegation-result.ts";
import { beginWork } from "./begin-work.ts";
import { retireCopy } from "./changes/take-over.ts";
import { drive, watchOnce } from "./drive.ts";
import { closeWith } from "./ends/close.ts";
import { failedResult, unwrittenBy } from "./ends/closing-events.ts";
import { type Ending, failure, type OutputEnding, Stopped, Suspended } from "./ends/ending.ts";
import { endTime, event, isWatcher, type LiveDelegation, outputOf } from "./live-delegation.ts";
import { reload } from "./recovery/hydrate.ts";
import { hasServers } from "./turns/open-servers.ts";
import { settledIfOpen } from "./turns/settle-request.ts";
import { watch } from "./watchers.ts";

/**
 * An agent's life from its slot to its close. It starts from whatever its transcript says, so a
 * fresh child and one taken up after a crash are the same to it.
 */
export async function work(agent: LiveDelegation): Promise<void> {
  const { middleware } = agent.run.parts;
  agent.process.time.begin();
  try {
    if (middleware.delegation === undefined) {
      await live(agent);
    } else {
      await middleware.delegation(
        {
          runId: agent.run.id,
          delegationId: agent.id,
          parentId: agent.parent?.id ?? null,
          depth: agent.contract.parent.depth,
          contract: agent.contract,
        },
        () => live(agent),
      );
      if (!agent.process.end.isEnding) throw new Stopped({ code: "middleware_ended" });
    }
  } catch (error) {
    await endWork(agent, error);
  } finally {
    agent.process.time.giveSlot();
  }
}

/** What becomes of an agent whose work ended with this error, or was left because of it. */
export async function endWork(agent: LiveDelegation, cause: unknown): Promise<void> {
  if (agent.process.end.isEnding) return;
  // Stopped while it was coming to rest: that is why it ends.
  const error = cause instanceof Suspended ? (agent.work.stopReason ?? cause) : cause;
  if (wasRefused(error)) return reconcileOrGiveUp(agent);
  try {
    if (wasNotWritten(error)) await reloadTree(agent, error);
    else if (agent.work.suspension && !agent.work.isParked)
      return await park(agent, agent.work.suspension);
    await closeWith(agent, endingOf(error, agent));
  } catch (refusal) {
    if (wasRefused(refusal)) return reconcileOrGiveUp(agent);
    // That its contract was changed is found out here, and is then why it ends.
    if (isTampering(refusal) && !isTampering(error)) return endWork(agent, refusal);
    giveUp(agent, refusal);
  }
}

/**
 * Its work has been left: from here on it is as after a crash, except that it reserves nothing. A
 * request that was under way is settled as an estimate; calls that were cut stay open until it
 * continues.
 */
async function park(agent: LiveDelegation, suspension: Suspended): Promise<void> {
  const { appends, holdsProcesses } = agent.process;
  // One whose work is handed in waits for its merge, as before.
  const pauses = suspension.closesAs === null && outputOf(agent) === null;
  if (pauses) beginWork(agent);
  agent.record(...settledIfOpen(agent));
  if (pauses) agent.record(event(agent, "agent.paused", { reason: "interrupt" }));
  suspension.isAtRest = true;
  endTime(agent);
  if (holdsProcesses || hasServers(agent)) {
    await agent.run.parts.release(agent.id).catch(() => undefined);
  }
  await appends.durable();
  agent.run.changed.notify();
}

/** Somebody else wrote first. Where it cannot even be read what they wrote, the agent is given up. */
async function reconcileOrGiveUp(agent: LiveDelegation): Promise<void> {
  try {
    await reconcile(agent);
  } catch (error) {
    if (!agent.process.end.isEnding) giveUp(agent, error);
  }
}

/** Its end cannot be written now: who waits is told, and the log is as soon as it can be. */
function giveUp(agent: LiveDelegation, cause: unknown): void {
  // Its caller must not go on with a result that is in no log: it ends for the same reason.
  agent.parent?.process.appends.add(Promise.reject(cause));
  abandon(agent, cause);
  const { delegations, execution, parts } = agent.run;
  // Whoever is below ends with it; another program's agent goes on, and does not.
  const isTopmost =
    agent === delegations.root ||
    agent.parent === null ||
    execution.isRemote(agent.parent) ||
    isHeldByProgram(agent.parent);
  if (isTopmost && agent.process.end.result !== null)
    parts.unwritten.add(agent, unwrittenBy(cause));
}

/**
 * Even the end could not be written (a full disk, a lost database): that is done later. Nobody
 * below goes on meanwhile, with what could not be written either, or holds up the process's end.
 */
function abandon(agent: LiveDelegation, cause: unknown): void {
  agent.process.end.isEnding = true;
  const { abandoned, root, topLevel } = agent.run.delegations;
  // Whoever watches ends with the root, as when its end is written.
  const below = [...agent.process.children, ...(agent === root ? topLevel : [])];
  for (const child of below) {
    if (child.process.end.isEnding || child.run.execution.isRemote(child)) continue;
    child.work.stop({ code: "store_failed", text: messageOf(cause) });
    abandon(child, cause);
  }
  abandoned.push(agent);
  agent.process.end.closed(failedResult(agent, unwrittenBy(cause)));
}

/** Somebody else wrote first: the log is right, and memory follows it. */
async function reconcile(agent: LiveDelegation): Promise<void> {
  const { run } = agent;
  const state = await run.parts.store.readRun(run.id);
  const delegation = state?.delegations.get(agent.id);
  if (state === undefined || delegation === undefined || !run.execution.owns(agent, state)) {
    run.lost = true;
    agent.process.end.isEnding = true;
    run.changed.notify();
    run.execution.leave();
    return;
  }
  const result = resultOf(state, agent.id);
  if (result) {
    agent.process.end.isEnding = true;
    agent.process.end.closed(result);
    retireCopy(agent);
    return;
  }
  if (++agent.process.reconciliations > patience) {
    agent.process.end.isEnding = true;
    agent.process.end.closed(failedResult(agent, { code: "log_conflict" }));
    return;
  }
  await reload(agent, delegation);
  agent.record(...settledIfOpen(agent));
  // The calls that come again must find the children they made.
  for (const { id, callId } of state.delegations.values()) {
    const child = run.delegations.byId.get(id);
    if (child?.parent === agent && callId !== null)
      run.delegations.byCall.set(`${agent.id} ${callId}`, child);
  }
  const output = outputOf(agent);
  await (output ? finish(agent, output) : work(agent));
}

/** Goes on where its output was handed in and nothing had come of it yet. */
export async function finish(agent: LiveDelegation, output: OutputEnding): Promise<void> {
  agent.process.time.beginEnd();
  try {
    await closeWith(agent, output);
  } catch (error) {
    await endWork(agent, error);
  }
}

/** What could not be written did not happen: before it is closed, a tree forgets it. */
async function reloadTree(agent: LiveDelegation, cause: unknown): Promise<void> {
  const state = await agent.run.parts.store.readRun(agent.run.id);
  const delegation = state?.delegations.get(agent.id);
  // Not even its creation was: there is nothing to close.
  if (delegation === undefined) throw cause;
  for (const child of agent.process.children) {
    if (!child.process.end.isEnding && !child.run.execution.isRemote(child))
      await reloadTree(child, cause);
  }
  await reload(agent, delegation);
  // Calls that are still under way must not move what its end is worked out from.
  agent.process.appends.breakOff(cause);
}

/** What could not be written did not happen: one that goes on all the same does so from its log. */
export async function forgetUnwritten(agent: LiveDelegation): Promise<void> {
  if (!wasNotWritten(agent.process.appends.refusal)) return;
  const state = await agent.run.parts.store.readRun(agent.run.id);
  const delegation = state?.delegations.get(agent.id);
  if (delegation !== undefined) await reload(agent, delegation);
}

function isHeldByProgram(agent: LiveDelegation | null): boolean {
  return agent?.contract.model.provider === externalProvider;
}

/** The disk had no room or is broken, or the contract was not the one that it was created with. */
const notWritten: ReadonlySet<string> = new Set(["storage-full", "database-unusable"]);

export function wasNotWritten(error: unknown): boolean {
  return isTampering(error) || (error instanceof MandateError && notWritten.has(error.code));
}

function isTampering(error: unknown): boolean {
  return error instanceof MandateError && error.code === "contract-invalid";
}

/** Others write now and then; one that is refused without end has a fault that reading cannot mend. */
const patience = 20;

/** Our append was not accepted because of what somebody else had written. */
const refusals: ReadonlySet<string> = new Set(["fenced", "illegal-transition", "conflict"]);

function wasRefused(error: unknown): boolean {
  return error instanceof MandateError && refusals.has(error.code);
}

function live(agent: LiveDelegation): Promise<void> {
  beginWork(agent);
  return isWatcher(agent) ? watch(agent, watchOnce) : drive(agent);
}

/** What an error that ends an agent's work means for its log. */
function endingOf(error: unknown, agent: LiveDelegation): Ending {
  if (error instanceof Stopped) return failure(error.cause);
  const text = messageOf(error);
  if (error instanceof MandateError) {
    if (error.code === "storage-full") return failure({ code: "storage_full", text });
    if (error.code === "contract-invalid") return failure({ code: "contract_invalid", text });
    if (error.code === "closed") return failure({ code: "store_failed", text });
  }
  if (agent.run.parts.middleware.delegation) return failure({ code: "middleware_failed", text });
  return failure({ code: "unexpected_error", text });
}
