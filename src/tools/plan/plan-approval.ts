import { consentIn } from "../../events/consent.ts";
import type { AskOutcome } from "../../ports/delegator.ts";
import { revealHidden } from "../../ports/visible-text.ts";
import type { Plan, PlanStep } from "./plan.ts";

export function questionAbout(plan: Plan): string {
  return `May this plan begin? (yes or no)\n${describePlan(plan)}`;
}

const [notInTime, notApproved] = [
  "Error: nobody approved the plan in time, so nothing was started.",
  "Error: the plan was not approved, and nothing was started.",
];

/** Only a person can approve, and only in so many words; whatever else is said goes to the model. */
export function objectionIn(outcome: AskOutcome): string | undefined {
  if (!outcome.answered || outcome.by !== "person") return notInTime;
  if (consentIn(outcome.answer) === "yes") return undefined;
  return `${notApproved} The person says: ${outcome.answer.trim()}`;
}

/** All of a plan, as a person reads it who is asked whether it may begin. The same text every time. */
function describePlan({ goal, steps }: Plan): string {
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
