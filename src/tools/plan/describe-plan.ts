import { revealHidden } from "../../ports/visible-text.ts";
import type { Plan, PlanStep } from "./plan.ts";

/** All of a plan, as a person reads it who is asked whether it may begin. The same text every time. */
export function describePlan({ goal, steps }: Plan): string {
  return [
    ...(goal === null ? [] : [`Goal: ${revealHidden(goal)}`]),
    ...steps.flatMap((step, place) => linesOf(step, place, steps)),
  ].join("\n");
}

function linesOf(step: PlanStep, place: number, steps: readonly PlanStep[]): string[] {
  const { dependsOn, description, id, owns, profile, reviewer, successCriteria, title } = step;
  const after = dependsOn.map((each) => steps[each]?.id ?? "");
  const head = [
    `${place + 1}. ${id}: ${revealHidden(title)} [${profile}]`,
    ...(owns.length > 0 ? [`owns ${revealHidden(owns.join(", "))}`] : []),
    ...(after.length > 0 ? [`after ${revealHidden(after.join(", "))}`] : []),
    ...(reviewer === null ? [] : [`reviewed by ${reviewer}`]),
  ].join("; ");
  const body = [description, ...successCriteria.map((criterion) => `- ${criterion}`)]
    .filter((text) => text !== "" && text !== title)
    .map((text) => revealHidden(text).replaceAll(/^/gm, "   "));
  return [head, ...body];
}
