import { externalProvider } from "../../contracts/contract.ts";
import type { Delegation } from "../../events/delegation.ts";
import type { NewEvent } from "../../events/event.ts";
import { isPaused, type RunState } from "../../events/run-state.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import type { Ownership, Store } from "../../ports/store.ts";
import type { Agent } from "../agent.ts";
import { event } from "../agent-event.ts";
import { cancelStored } from "../ends/cancel-stored.ts";
import { closeWith } from "../ends/close.ts";
import { failure, Suspended } from "../ends/ending.ts";
import type { EngineParts } from "../engine-parts.ts";
import { queue } from "../enqueue.ts";
import { LiveRun } from "../live-run.ts";
import {
  isHeldBack,
  outlivesInterrupt,
  settle,
  suspendRoot,
  treatChildren,
} from "../rests/interrupt.ts";
import { heldBy } from "../rests/resumption.ts";
import { grantTo, type RunGrant } from "../start/run-grant.ts";
import { settledIfOpen } from "../turns/settle-request.ts";
import { endWork, finish, wasNotWritten } from "../work.ts";
import { hydrate } from "./hydrate.ts";

/** Taken up so often without a step forward, a delegation is what kills its worker. */
const resumptionLimit = 3;

/** A run that is ours now, and of which nobody works yet. */
export interface ClaimedRun {
  readonly id: string;
  readonly ownership: Ownership;
  readonly state: RunState;
}

/** Undefined: its worker works on it, it has ended, or somebody else was faster. */
export async function claimRun(store: Store, id: string): Promise<ClaimedRun | undefined> {
  const ownership = await store.claimRun(id);
  if (ownership === undefined) return undefined;
  const state = await store.readRun(id);
  return state && { id, ownership, state };
}

/** Takes up one run by itself: whoever takes up many ends what all of them left, and does so once. */
export async function recoverRun(
  parts: EngineParts,
  runId: string,
  grant: RunGrant,
): Promise<LiveRun | undefined> {
  const claimed = await claimRun(parts.store, runId);
  if (claimed === undefined) return undefined;
  await parts.endStrays(claimed.state.delegations);
  const taken = await takeUpRun(parts, claimed, grant);
  if (taken !== undefined) await goOnWith(taken);
  return taken?.run;
}

/** A run as its log tells it, of which nobody works yet. */
export interface TakenRun {
  readonly run: LiveRun;
  readonly state: RunState;
  /** Those who rested, and were told to go on. */
  readonly woken: ReadonlySet<Agent>;
}

/** Undefined: it cannot go on, and has ended. Until this has resolved, it can be tried again. */
export async function takeUpRun(
  parts: EngineParts,
  { id: runId, ownership, state }: ClaimedRun,
  grant: RunGrant,
): Promise<TakenRun | undefined> {
  const run = new LiveRun(parts, {
    id: runId,
    task: state.task,
    workspace: state.workspace,
    tokens: state.budgetTokens,
    ownership,
    grant: await grantOfRoot(parts, state, grant),
    // What the run was started with is in the contracts of its agents, and those below inherit it.
    readOnly: true,
  });
  try {
    await hydrate(run, state);
  } catch (error) {
    if (!(error instanceof MandateError)) throw error;
    // It cannot go on (its workspace is gone), or must not (its contract was changed): it ends.
    const code = error.code === "contract-invalid" ? "policy_denied" : "worker_lost";
    await cancelStored(parts.store, parts.toolbox, runId, runId, error.message, code);
    return undefined;
  }
  // A goal that had not begun waits for its turn again.
  run.isHeld = state.goal !== null && run.root?.status === "created";
  return { run, state, woken: isPaused(state) ? await wake(run, state) : none };
}

/**
 * Goes on with a run whose worker is gone, or that was paused and is to go on. Every open delegation
 * goes on from its last recorded step, waits for a slot again, or is closed; nothing starts over, and
 * a run that nobody lost is left alone, so that recovering twice writes nothing the second time.
 * What the dead worker's agents had started has been ended by then (`endStrays`): it outlives them
 * where no namespace held it.
 */
export async function goOnWith({ run, state, woken }: TakenRun): Promise<void> {
  for (const delegation of [...state.delegations.values()]) {
    const agent = run.agents.get(delegation.id);
    if (!agent || agent.isEnding || agent.isParked || isHeldBack(agent)) continue;
    try {
      await takeUp(agent, delegation, woken.has(agent));
    } catch (error) {
      // It ends as it would at work: written now, or as soon as there is room for it.
      if (!wasNotWritten(error)) throw error;
      await endWork(agent, error);
    }
  }
  if (run.root?.isInterrupted && !run.root.isEnding) run.settling = goOnSettling(run.root);
}

const none: ReadonlySet<Agent> = new Set();

/**
 * Somebody resumed the run: in one transaction everybody who rests goes on, and nobody else is asked
 * to. An agent of another program is not there any more; it goes on waiting for those below it.
 */
async function wake(run: LiveRun, state: RunState): Promise<ReadonlySet<Agent>> {
  const woken = new Set<Agent>();
  const events: NewEvent[] = [];
  for (const agent of run.agents.values()) {
    const { suspension } = agent;
    if (suspension === null || agent.isEnding) continue;
    if (agent.contract.model.provider === externalProvider && suspension.closesAs !== null) {
      const { closesAs, message: reason } = suspension;
      const payload = { reason, closes_as: closesAs, resumed: true as const };
      events.push(event(agent, "agent.interrupted", payload));
      agent.cut = new Suspended(reason, closesAs, true);
      continue;
    }
    const delegation = state.delegations.get(agent.id);
    const resumption = delegation?.status === "running" ? delegation.resumptions : 0;
    events.push(event(agent, "agent.resumed", { fence: state.fence, resumption }));
    agent.cut = null;
    woken.add(agent);
  }
  await run.append(events);
  return woken;
}

/** What an interrupt asked for is carried out to its end, whoever began it. */
async function goOnSettling(root: Agent): Promise<void> {
  try {
    await treatChildren(root);
    await settle(root);
  } catch (error) {
    await endWork(root, error);
  }
}

/** Whoever takes a run up, it stays the run of the one for whom it was started. */
export async function grantOfRoot(
  { store }: EngineParts,
  { delegations }: RunState,
  grant: RunGrant,
): Promise<RunGrant> {
  const [root] = delegations.values();
  if (root === undefined) return grant;
  try {
    const contract = await store.readContract(root.id);
    return grantTo(grant, { ...contract.principal, scopes: heldBy(contract).scopes });
  } catch {
    // A contract that cannot be read ends the run, in `hydrate`.
    return grant;
  }
}

export async function takeUp(agent: Agent, delegation: Delegation, isWoken = false): Promise<void> {
  if (agent.contract.workspace.copy !== undefined && agent.copy === null) {
    agent.record(...settledIfOpen(agent));
    await closeWith(agent, failure("worker_lost", "Its working copy is gone."));
    return;
  }
  // It was at rest, and its log says already that it goes on.
  if (isWoken) return queue(agent);
  if (agent.isInterrupted) return endWork(agent, agent.suspension);
  switch (delegation.status) {
    case "created":
      if (!agent.run.isHeld) queue(agent);
      return;
    case "running": {
      // What only waits for others cannot be what killed the worker.
      const resumption = delegation.resumptions + (onlyWaits(agent) ? 0 : 1);
      const events: NewEvent[] = [...settledIfOpen(agent)];
      if (resumption > resumptionLimit) {
        if (events.length > 0) agent.record(...events);
        const error = `It was taken up ${resumptionLimit} times without getting any further.`;
        await closeWith(agent, failure("worker_lost", error));
        return;
      }
      if (agent.contract.model.provider === externalProvider) {
        if (events.length > 0) agent.record(...events);
        const gone = "The program that held this session is gone.";
        // For those below it that is an interrupt, and their contracts say what it means.
        const isLast = !(agent.children ?? []).some(outlivesInterrupt);
        if (isLast) await closeWith(agent, failure("parent_crash", gone));
        else await suspendRoot(agent, gone, "parent_crash");
        return;
      }
      const { fence } = agent.run.ownership;
      events.push(event(agent, "agent.resumed", { fence, resumption }));
      agent.record(...events);
      queue(agent);
      return;
    }
    case "waiting_for_merge": {
      const { text, truncated, reason } = delegation.output;
      const output = { kind: "output", text, truncated, reason } as const;
      // Where there is something to merge, its turn may depend on others that go on only now.
      if (agent.copy === null) await closeWith(agent, output);
      else void finish(agent, output);
      return;
    }
    case "completed":
    case "failed":
    case "closed":
      // These are written together with `closed`; a log that stops between them is not ours.
      throw new MandateError(
        "illegal-transition",
        `Delegation ${agent.id} is ${delegation.status}, but not closed.`,
      );
    default:
      return delegation satisfies never;
  }
}

function onlyWaits({ openCalls, run }: Agent): boolean {
  if (openCalls === null || openCalls.size === 0) return false;
  return [...openCalls.values()].every((tool) => run.parts.toolbox.get(tool)?.waits === true);
}
