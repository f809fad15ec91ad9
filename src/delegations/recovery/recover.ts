import { allGrantedBy, externalProvider } from "../../contracts/contract.ts";
import { grantTo, type RunGrant } from "../../contracts/run-grant.ts";
import type { Delegation } from "../../events/delegation.ts";
import type { NewEvent } from "../../events/event.ts";
import { isPaused, type RunState } from "../../events/run-state.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import type { Ownership, Store } from "../../ports/store.ts";
import { cancelStored } from "../ends/cancel-stored.ts";
import { closeWith } from "../ends/close.ts";
import { failure, Suspended } from "../ends/ending.ts";
import type { EngineParts } from "../engine-parts.ts";
import { event, type LiveDelegation, openChildren } from "../live-delegation.ts";
import { LiveRun, type RunSettings } from "../live-run.ts";
import {
  isHeldBack,
  outlivesInterrupt,
  settle,
  suspendRoot,
  treatChildren,
} from "../suspend/interrupt.ts";
import { settledIfOpen } from "../turns/request-model.ts";
import { endWork, finish, localExecution, queue, wasNotWritten } from "../work.ts";
import { hydrate } from "./hydrate.ts";

/** A delegation that was recovered so often without progress probably kills its worker. */
const resumptionLimit = 3;

/** A run that this process owns now, and on which no delegation works yet. */
export interface ClaimedRun {
  readonly id: string;
  readonly ownership: Ownership;
  readonly state: RunState;
}

/** Undefined: its worker is alive, it has ended, or another process was faster. */
export async function claimRun(store: Store, id: string): Promise<ClaimedRun | undefined> {
  const ownership = await store.claimRun(id);
  if (ownership === undefined) return undefined;
  const state = await store.readRun(id);
  return state && { id, ownership, state };
}

interface RecoveryOptions {
  /** The most that this process grants. */
  readonly grant: RunGrant;
  /** A person resumed the run, so suspended delegations continue; a recovery leaves them suspended. */
  readonly isResumed: boolean;
}

/** Recovers one run. `Recovery` recovers many, and ends the stray processes of all of them at once. */
export async function recoverRun(
  parts: EngineParts,
  runId: string,
  options: RecoveryOptions,
): Promise<LiveRun | undefined> {
  const claimed = await claimRun(parts.store, runId);
  if (claimed === undefined) return undefined;
  await parts.endStrays(claimed.state.delegations);
  const taken = await recoverClaimed(parts, claimed, options);
  if (taken !== undefined) await continueRecovered(taken);
  return taken?.run;
}

/** A run as its log has it; no delegation of it works yet. */
export interface RecoveredRun {
  readonly run: LiveRun;
  readonly state: RunState;
  /** Suspended delegations that a person resumed. */
  readonly woken: ReadonlySet<LiveDelegation>;
}

/**
 * Undefined: the run cannot continue, and was closed. Until this has resolved, it can be tried again.
 */
export async function recoverClaimed(
  parts: EngineParts,
  { id: runId, ownership, state }: ClaimedRun,
  { grant, isResumed }: RecoveryOptions,
): Promise<RecoveredRun | undefined> {
  const settings = await storedSettings(parts, state, ownership, grant);
  const run = new LiveRun(parts, settings, localExecution);
  try {
    await hydrate(run, state);
  } catch (error) {
    await closeUnrecoverable(run, runId, error);
    return undefined;
  }
  // A goal that had not begun waits for its turn again.
  run.isHeld = state.goal !== null && run.delegations.root?.state.status === "created";
  const wakes = isResumed || isPaused(state);
  return { run, state, woken: wakes ? await wake(run, state) : none };
}

/**
 * Continues a run whose worker is gone, or that was paused. Every open delegation continues from its
 * last recorded step, waits for a slot again, or is closed. Nothing starts over, so that recovering
 * twice writes nothing the second time. Processes that the dead worker's delegations had started were
 * ended before (`endStrays`): they can outlive the worker where no namespace holds them.
 */
export async function continueRecovered({ run, state, woken }: RecoveredRun): Promise<void> {
  for (const delegation of [...state.delegations.values()]) {
    const live = run.delegations.byId.get(delegation.id);
    if (!live || live.process.end.isEnding || live.work.isParked || isHeldBack(live)) continue;
    try {
      await recoverDelegation(live, delegation, woken);
    } catch (error) {
      // The close is written as it would be at work: now, or as soon as there is room.
      if (!wasNotWritten(error)) throw error;
      await endWork(live, error);
    }
  }
  if (run.delegations.root?.work.isInterrupted && !run.delegations.root.process.end.isEnding)
    run.settling = continueSettling(run.delegations.root);
}

const none: ReadonlySet<LiveDelegation> = new Set();

/**
 * A person resumed the run: every suspended delegation continues, in one transaction. An agent of
 * another program is gone, whether it was suspended or its process was killed: it waits for its
 * sub-agents, which all continue, even where their contracts say otherwise of an interrupt.
 */
async function wake(run: LiveRun, state: RunState): Promise<ReadonlySet<LiveDelegation>> {
  const woken = new Set<LiveDelegation>();
  const events: NewEvent[] = [];
  const wakeBy = (live: LiveDelegation, ...own: readonly NewEvent[]): void => {
    events.push(...own);
    live.follow(own);
  };
  for (const live of run.delegations.byId.values()) {
    if (live.process.end.isEnding) continue;
    const suspension = live.work.suspension ?? suspensionByLoss(live);
    if (suspension === null) continue;
    if (live.contract.model.provider === externalProvider && suspension.closesAs !== null) {
      const { cause, closesAs, message: reason } = suspension;
      const payload = { cause, reason, closes_as: closesAs, resumed: true as const };
      wakeBy(live, event(live, "agent.interrupted", payload));
      live.work.cut = new Suspended(cause, true);
      continue;
    }
    const delegation = state.delegations.get(live.id);
    const resumption = delegation?.status === "running" ? delegation.resumptions : 0;
    // The process may have been killed between the interrupt and the end of the model request.
    wakeBy(
      live,
      ...settledIfOpen(live),
      event(live, "agent.resumed", { fence: state.fence, resumption }),
    );
    live.work.cut = null;
    woken.add(live);
  }
  await run.append(events);
  return woken;
}

/** For an agent of another program whose process is gone. */
function suspensionByLoss({ contract, state }: LiveDelegation): Suspended | null {
  const isExternal = contract.model.provider === externalProvider;
  return isExternal && state.status === "running" ? new Suspended({ code: "program_gone" }) : null;
}

/** An interrupt that a dead process had begun is carried out to its end. */
export async function continueSettling(root: LiveDelegation): Promise<void> {
  try {
    await treatChildren(root);
    await settle(root);
  } catch (error) {
    await endWork(root, error);
  }
}

/** The settings of a run that the log has. */
export async function storedSettings(
  parts: EngineParts,
  state: RunState,
  ownership: Ownership,
  grant: RunGrant,
): Promise<RunSettings> {
  return {
    id: state.id,
    task: state.task,
    workspace: state.workspace,
    tokens: state.budgetTokens,
    ownership,
    grant: await grantOfRoot(parts, state, grant),
    // The contracts say what the run was started with, and new delegations inherit it.
    readOnly: true,
  };
}

/**
 * Closes a delegation, or a run by its id, that cannot continue in any process: its workspace is gone,
 * or its contract was changed. Throws any other error.
 */
export async function closeUnrecoverable(run: LiveRun, id: string, error: unknown): Promise<void> {
  if (!(error instanceof MandateError)) throw error;
  const isInvalid = error.code === "contract-invalid";
  const code = isInvalid ? "contract_invalid" : "not_recoverable";
  await cancelStored(run.parts, run.id, id, { code, text: error.message });
}

/** The run keeps the principal that started it, whichever process recovers it. */
async function grantOfRoot(
  { store }: EngineParts,
  { delegations }: RunState,
  grant: RunGrant,
): Promise<RunGrant> {
  const [root] = delegations.values();
  if (root === undefined) return grant;
  try {
    const contract = await store.readContract(root.id);
    return grantTo(grant, { ...contract.principal, scopes: allGrantedBy(contract).scopes });
  } catch {
    // A contract that cannot be read ends the run, in `hydrate`.
    return grant;
  }
}

export async function recoverDelegation(
  live: LiveDelegation,
  delegation: Delegation,
  woken = none,
): Promise<void> {
  if (live.contract.workspace.copy !== undefined && live.copy === null) {
    live.record(...settledIfOpen(live));
    await closeWith(live, failure({ code: "working_copy_gone" }));
    return;
  }
  // The log of a suspended delegation already says that it continues.
  if (woken.has(live)) return queue(live);
  if (live.work.isInterrupted) return endWork(live, live.work.suspension);
  switch (delegation.status) {
    case "created":
      if (!live.run.isHeld) queue(live);
      return;
    case "running": {
      // A delegation that only waits for others did not kill the worker.
      const resumption = delegation.resumptions + (onlyWaits(live) ? 0 : 1);
      const events: NewEvent[] = [...settledIfOpen(live)];
      if (resumption > resumptionLimit) {
        if (events.length > 0) live.record(...events);
        const cause = { code: "resumptions_exhausted", times: resumptionLimit } as const;
        await closeWith(live, failure(cause));
        return;
      }
      if (live.contract.model.provider === externalProvider) {
        if (events.length > 0) live.record(...events);
        const gone = { code: "program_gone" } as const;
        // For its children that is an interrupt, which their contracts decide.
        const isLast = !(live.process.children ?? []).some(outlivesInterrupt);
        if (isLast) await closeWith(live, failure(gone));
        else await suspendRoot(live, gone);
        return;
      }
      const { fence } = live.run.settings.ownership;
      events.push(event(live, "agent.resumed", { fence, resumption }));
      live.record(...events);
      queue(live);
      return;
    }
    case "waiting_for_merge": {
      const { text, truncated, reason } = delegation.output;
      const output = { kind: "output", text, truncated, reason } as const;
      // The children, and those whose work is merged earlier, are recovered after this delegation.
      const isDone = live.copy === null && openChildren(live).length === 0;
      if (isDone) await closeWith(live, output);
      else void finish(live, output);
      return;
    }
    case "completed":
    case "failed":
    case "closed":
      // The store writes these events together with `closed`, so no log of ours stops between them.
      throw new MandateError(
        "illegal-transition",
        `Delegation ${live.id} is ${delegation.status}, but not closed.`,
      );
    default:
      return delegation satisfies never;
  }
}

function onlyWaits({ run, said }: LiveDelegation): boolean {
  const { openCalls } = said;
  if (openCalls.size === 0) return false;
  return [...openCalls.values()].every(({ tool }) => run.parts.toolbox.get(tool)?.waits === true);
}
