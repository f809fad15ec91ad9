import type { Delegator } from "../../ports/delegator.ts";
import type { Plan } from "./plan.ts";
import { stepContext } from "./step-context.ts";
import type { StepRecord } from "./step-record.ts";
import { stepRequest } from "./step-request.ts";
import { stepReview } from "./step-review.ts";

/**
 * The steps that were completed before whoever runs the plan was interrupted, by place: given the
 * same to do, after the same results. What depends on a step that is still to be done is as well.
 */
export async function earlierSteps(
  plan: Plan,
  delegator: Delegator,
): Promise<ReadonlyMap<number, StepRecord>> {
  const records: StepRecord[] = plan.steps.map(() => ({ tries: 0 }));
  const found = new Map<number, StepRecord>();
  const dependents = plan.steps.map((): number[] => []);
  const missing = plan.steps.map(({ dependsOn }) => dependsOn.length);
  for (const [place, { dependsOn }] of plan.steps.entries()) {
    for (const each of dependsOn) dependents[each]?.push(place);
  }
  const ready = [...plan.steps.keys()].filter((place) => missing[place] === 0);
  for (let place = ready.shift(); place !== undefined; place = ready.shift()) {
    const record = await earlierStep(plan, place, records, delegator);
    if (record === undefined) continue;
    records[place] = record;
    found.set(place, record);
    for (const dependent of dependents[place] ?? []) {
      const left = (missing[dependent] ?? 0) - 1;
      missing[dependent] = left;
      if (left === 0) ready.push(dependent);
    }
  }
  return found;
}

async function earlierStep(
  plan: Plan,
  place: number,
  records: readonly StepRecord[],
  delegator: Delegator,
): Promise<StepRecord | undefined> {
  const step = plan.steps[place];
  if (step === undefined) return undefined;
  const { joinTokens } = delegator;
  const context = stepContext(plan, step, records, joinTokens);
  const result = await delegator.earlier(step.id, stepRequest(step, context));
  if (result === undefined) return undefined;
  const record = { tries: 1, result, isEarlier: true } as const;
  if (step.reviewer === null) return record;
  const about = { ...stepReview(plan, step, result, joinTokens), profile: step.reviewer };
  const review = await delegator.earlier(`${step.id}-review`, about);
  return review === undefined ? record : { ...record, review: { result: review } };
}
