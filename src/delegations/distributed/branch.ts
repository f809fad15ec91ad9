import type { RunGrant } from "../../contracts/run-grant.ts";
import { isOpen, type Share } from "../../events/delegation.ts";
import type { NewEvent } from "../../events/event.ts";
import type { RunState } from "../../events/run-state.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import type { Ownership, Store } from "../../ports/store.ts";
import { cancelStored } from "../ends/cancel-stored.ts";
import type { EngineParts } from "../engine-parts.ts";
import type { LiveDelegation } from "../live-delegation.ts";
import { grantOfRoot, takeUp } from "../recovery/recover.ts";
import { catchUp, loseBranch } from "./branches.ts";
import { DistributedExecution } from "./distributed-execution.ts";
import { hydrateBranch } from "./hydrate-branch.ts";

/** Why there is nothing to do here: it has ended or was handed in, or another works on it. */
export type NoBranch = "done" | "busy";

/**
 * Claims one delegation of a spread run for this process, and rebuilds what is needed to work on
 * it. Whoever worked on it before is gone, or gets no further word in.
 */
export async function openBranch(
  parts: EngineParts,
  grant: RunGrant,
  runId: string,
  id: string,
  /** From here on it is told what happens to the run. */
  onOpen: (branch: DistributedExecution) => void,
): Promise<DistributedExecution | NoBranch> {
  const { store } = parts;
  const left = await leftBy(parts, runId, id);
  if (typeof left === "string") return left;
  const { fence } = left.share;
  const claim = { worker: store.ownership.worker, fence: fence + 1 };
  // What a worker did before has to be read when it cannot write any more.
  const isFresh = fence === 0;
  if (!isFresh) {
    if (!(await claimFirst(store, runId, id, claim))) return "busy";
    await parts.endStrays(new Set([id]));
  }
  const state = isFresh ? left.state : await store.readRun(runId);
  if (state === undefined) return "done";
  const branch = DistributedExecution.open(parts, {
    id: runId,
    task: state.task,
    workspace: state.workspace,
    tokens: state.budgetTokens,
    ownership: claim,
    grant: await grantOfRoot(parts, state, grant),
    readOnly: true,
  });
  onOpen(branch);
  try {
    const agent = await hydrateBranch(branch, state, id);
    if (isFresh) claimAlong(branch, agent, claim);
    // What was written while this was being read was heard by no part of this process.
    await catchUp(branch);
  } catch (error) {
    if (!(error instanceof MandateError)) throw error;
    // It cannot go on (its workspace is not here), or must not (its contract was changed): it ends.
    const isInvalid = error.code === "contract-invalid";
    const code = isInvalid ? "contract_invalid" : "not_recoverable";
    await cancelStored(store, parts.toolbox, runId, id, { code, text: error.message });
    return "done";
  }
  return branch;
}

/** The delegation, when nobody works on it and somebody should. */
async function leftBy(
  { store }: EngineParts,
  runId: string,
  id: string,
): Promise<{ readonly state: RunState; readonly share: Share } | NoBranch> {
  const state = await store.readRun(runId);
  const delegation = state?.delegations.get(id);
  const { share } = delegation ?? {};
  if (!state || !delegation || !share || !isOpen(delegation)) return "done";
  // What is handed in belongs to the worker of its caller.
  if (delegation.status === "waiting_for_merge" && delegation.parentId !== null) return "done";
  if (share.worker !== null && (await store.isWorkerAlive(share.worker))) return "busy";
  return { state, share };
}

/** False when another was faster. */
async function claimFirst(
  store: Store,
  runId: string,
  id: string,
  claim: Ownership,
): Promise<boolean> {
  try {
    await store.append({ runId, by: claim, events: [claimed(id, claim)] });
    return true;
  } catch (error) {
    if (error instanceof MandateError && raceCodes.has(error.code)) return false;
    throw error;
  }
}

const raceCodes: ReadonlySet<string> = new Set(["illegal-transition", "fenced"]);

function claimed(id: string, claim: Ownership): NewEvent {
  return { type: "agent.claimed", sub_agent_id: id, payload: claim };
}

/**
 * The claim is written with the first things that follow from it. If it is refused, so are they, and
 * nothing has left this process.
 */
function claimAlong(branch: DistributedExecution, agent: LiveDelegation, claim: Ownership): void {
  const { run } = branch;
  const written = run.append([claimed(agent.id, claim)]);
  agent.process.appends.add(written);
  written.then(
    () => followState(branch),
    () => loseBranch(branch),
  );
}

/** From its first append on, the state of a run moves with its log; until then it was a picture. */
async function followState(branch: DistributedExecution): Promise<void> {
  const { run } = branch;
  for (;;) {
    try {
      branch.log = (await run.parts.store.readRun(run.id)) ?? branch.log;
      await catchUp(branch);
      return;
    } catch (error) {
      if (run.lost || (error instanceof MandateError && error.code === "closed")) return;
      // The database is away; it is asked again until it is there, or this worker is not.
      const { clock } = run.parts;
      await new Promise<void>((resolve) => clock.after(500, resolve).unref());
    }
  }
}

/**
 * Begins, or goes on where the last worker left it: with the delegation itself, with what was
 * handed in to it, with those whom it had called and who may never have been heard of, and with the
 * watchers of a root.
 */
export async function workOnBranch(branch: DistributedExecution): Promise<void> {
  const { here, log: state, run } = branch;
  if (here === null || state === null) return;
  for (const agent of here.process.children ?? []) {
    const delegation = state.delegations.get(agent.id);
    if (delegation === undefined || agent.process.end.isEnding) continue;
    if (delegation.status === "waiting_for_merge") await takeUp(agent, delegation);
    else if (delegation.share?.worker === null) branch.dispatch(agent);
  }
  const own =
    here.parent === null
      ? [here, ...run.delegations.topLevel.filter((one) => one !== here)]
      : [here];
  for (const agent of own) {
    const delegation = state.delegations.get(agent.id);
    if (delegation !== undefined && !agent.process.end.isEnding) await takeUp(agent, delegation);
  }
  void here.process.end.whenClosed().then(() => branch.leave());
}

/** A goal that had not begun waits for its turn again. */
export function isWaitingGoal({ here, log, run }: DistributedExecution): boolean {
  const isGoal = log !== null && log.goal !== null;
  return isGoal && here === run.delegations.root && here?.state.status === "created";
}
