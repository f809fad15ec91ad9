import { consentIn } from "../../events/consent.ts";
import type { AskOutcome } from "../../ports/delegator.ts";
import { describePlan } from "./describe-plan.ts";
import type { Plan } from "./plan.ts";

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
