import type { DelegationRequest } from "../../ports/delegator.ts";
import type { PlanStep } from "./plan.ts";

/** What the child of a step is asked for. */
export function stepRequest(step: PlanStep, context: string | undefined): DelegationRequest {
  return {
    task: step.description,
    title: step.title,
    profile: step.profile,
    successCriteria: step.successCriteria,
    owns: step.owns.length > 0 ? step.owns : undefined,
    context,
  };
}
