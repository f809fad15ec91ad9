import { modelName } from "../../contracts/contract.ts";
import type { EventPayloads } from "../../events/event.ts";
import { openSteps, standingPlans } from "../../events/planned-steps.ts";
import { planModelName } from "../../models/plan-model.ts";
import { isObjection } from "../../tools/plan/plan-approval.ts";
import type { Agent } from "../agent.ts";
import type { Rejection } from "../changes/take-over.ts";
import type { LiveRun } from "../live-run.ts";

/**
 * Why what an agent hands in is not accepted for its plan: a plan is done when every step of it is,
 * whatever is said of it. Who runs a plan that is written down must have run it.
 */
export function judgePlan(agent: Agent, text: string): Rejection | undefined {
  const { contract, id, run } = agent;
  const plan = standingPlans(run.plans).find(({ by }) => by === id);
  if (plan === undefined) {
    if (modelName(contract) !== planModelName) return undefined;
    return { code: wasRefused(agent) ? "policy_denied" : "invalid_model_output", error: text };
  }
  const open = stepsOpenIn(run, plan);
  if (open.length === 0) return undefined;
  return {
    code: "exit_rule_unmet",
    error: `Not completed of the plan: ${namesOf(open)}.\n\n${text}`,
  };
}

export function stepsOpenIn(run: LiveRun, plan: EventPayloads["run.planned"]): string[] {
  return openSteps(plan, (callId) => {
    return run.byCall.get(`${plan.by} ${callId}`)?.result?.status === "completed";
  });
}

/** Of very many the first. */
export function namesOf(steps: readonly string[]): string {
  return steps.length > 10 ? `${steps.slice(0, 10).join(", ")}, …` : steps.join(", ");
}

/** By a rule, or by a person: then nothing is wrong with the plan itself. */
function wasRefused({ transcript }: Agent): boolean {
  if (transcript.deniedStreak > 0) return true;
  const last = transcript.messages.findLast(({ role }) => role === "tool");
  return last !== undefined && isObjection(last.text);
}
