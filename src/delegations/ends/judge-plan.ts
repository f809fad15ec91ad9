import { modelName } from "../../contracts/contract.ts";
import type { EventPayloads } from "../../events/event.ts";
import { openSteps, standingPlans } from "../../events/planned-steps.ts";
import { planModelName } from "../../models/plan-model.ts";
import type { LiveDelegation } from "../live-delegation.ts";
import type { LiveRun } from "../live-run.ts";
import type { Rejection } from "./ending.ts";

/**
 * Why what an agent hands in is not accepted for its plan: a plan is done when every step of it is,
 * whatever is said of it. Who runs a plan that is written down must have run it.
 */
export function judgePlan(agent: LiveDelegation, text: string): Rejection | undefined {
  const { contract, id, run } = agent;
  const plan = standingPlans(run.plans).find(({ by }) => by === id);
  if (plan === undefined) {
    if (modelName(contract) !== planModelName) return undefined;
    return { cause: { code: "plan_not_run", refused: wasRefused(agent), text } };
  }
  const open = stepsOpenIn(run, plan);
  if (open.length === 0) return undefined;
  return { cause: { code: "plan_incomplete", steps: open }, said: text };
}

export function stepsOpenIn(run: LiveRun, plan: EventPayloads["run.planned"]): string[] {
  return openSteps(plan, (callId) => {
    return run.byCall.get(`${plan.by} ${callId}`)?.process.end.result?.status === "completed";
  });
}

/** By a rule, or by a person: then nothing is wrong with the plan itself. */
function wasRefused({ said: { transcript } }: LiveDelegation): boolean {
  return transcript.deniedStreak > 0 || transcript.wasNotApproved;
}
