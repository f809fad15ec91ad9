import type { DelegationRequest, DelegationResult } from "../../ports/delegator.ts";
import type { Plan, PlanStep } from "./plan.ts";
import { boundedResult, changedFiles } from "./step-context.ts";

/** The task of the reviewer of a step. */
export function stepReview(
  { goal }: Plan,
  step: PlanStep,
  result: DelegationResult,
  tokens: number,
): Pick<DelegationRequest, "task" | "title" | "context"> {
  const criteria = step.successCriteria.map((criterion) => `- ${criterion}`);
  const files = changedFiles(result);
  return {
    title: `Review: ${step.title}`,
    task: [
      `Review what came of the step "${step.title}". Say first whether it can stay as it is, then what has to change and why.`,
      ...(criteria.length === 0 ? [] : [["It is done when:", ...criteria].join("\n")]),
      files.length === 0 ? "By the runtime's evidence it changed no files." : files.join("\n"),
    ].join("\n\n"),
    context: [
      ...(goal === null ? [] : [`Goal of the whole plan: ${goal}`]),
      `What ${result.profile} was asked to do:\n${step.description}`,
      `What it reports, which is a claim to be checked:\n${boundedResult(result, tokens)}`,
    ].join("\n\n"),
  };
}
