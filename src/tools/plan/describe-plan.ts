import { oneLine } from "../../events/one-line.ts";
import type { Plan, PlanStep } from "./plan.ts";

const mostLines = 40;

/** The plan as somebody reads it who is asked whether it may begin. The same text every time. */
export function describePlan({ goal, steps }: Plan): string {
  const shown = steps.slice(0, mostLines).map((step, place) => lineOf(step, place, steps));
  const left = steps.length - shown.length;
  return [
    ...(goal === null ? [] : [`Goal: ${oneLine(goal, 300)}`]),
    ...shown,
    ...(left > 0 ? [`… and ${left} more steps`] : []),
  ].join("\n");
}

function lineOf(step: PlanStep, place: number, steps: readonly PlanStep[]): string {
  const { dependsOn, id, owns, profile, reviewer, title } = step;
  const after = dependsOn.map((each) => steps[each]?.id ?? "");
  return [
    `${place + 1}. ${id}: ${oneLine(title, 100)} [${profile}]`,
    ...(owns.length > 0 ? [`owns ${oneLine(owns.join(", "), 120)}`] : []),
    ...(after.length > 0 ? [`after ${oneLine(after.join(", "), 120)}`] : []),
    ...(reviewer === null ? [] : [`reviewed by ${reviewer}`]),
  ].join("; ");
}
