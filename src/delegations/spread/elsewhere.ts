import { ownerOf } from "../../events/checker/check-owner.ts";
import type { Failure } from "../../events/delegation.ts";
import type { RunState } from "../../events/run-state.ts";
import type { CancelOutcome } from "../../ports/delegator.ts";
import type { Agent } from "../agent.ts";
import { cancelStored } from "../ends/cancel-stored.ts";
import type { Ending } from "../ends/ending.ts";

/** Another worker works on it, or nobody does yet: here it is known by what the log says of it. */
export function isElsewhere({ id, run }: Agent): boolean {
  if (!run.isSpread || run.here?.id === id) return false;
  // What is owned along with the delegation of this process: its watchers, and what was handed in.
  const { state } = run;
  const delegation = state?.delegations.get(id);
  if (delegation?.parentId === null && run.here?.parent === null) return false;
  return delegation?.status !== "waiting_for_merge" || delegation.share?.worker !== null;
}

/** Whether this process may still write about it. */
export function isOurs({ id, run }: Agent, state: RunState): boolean {
  const { fence, worker } = run.isSpread ? ownerOf(state, id) : state;
  return fence === run.ownership.fence && worker === run.ownership.worker;
}

/** Ends one that another worker works on, with all below it; it hears of it from the log. */
export async function endElsewhere(agent: Agent, { code, error }: Failure): Promise<CancelOutcome> {
  const { id, run } = agent;
  const { store, toolbox } = run.parts;
  const outcome = await cancelStored(store, toolbox, run.id, id, error, code);
  if (outcome !== "not_found") await agent.whenClosed();
  return outcome;
}

/** Nobody outlives its caller. */
export async function endChildrenElsewhere({ children }: Agent, cause: Ending): Promise<void> {
  const isCancelled = cause.kind === "failure" && cause.code === "cancelled";
  const ending = isCancelled ? cancelled : tooEarly;
  for (const child of children ?? []) {
    if (!child.isEnding && isElsewhere(child)) await endElsewhere(child, ending);
  }
}

const cancelled: Failure = { code: "cancelled", error: "Its caller was cancelled." };
const tooEarly: Failure = { code: "parent_closed", error: "Its caller ended before it did." };

/** Its work is done and handed in; what comes of it is decided where its caller is worked on. */
export function isForCaller({ id, parent, run }: Agent): boolean {
  return run.isSpread && parent !== null && run.here?.id === id;
}

/** This process has done its part of it. */
export function leave(agent: Agent): void {
  agent.isEnding = true;
  agent.rest();
  agent.run.left.resolve();
}
