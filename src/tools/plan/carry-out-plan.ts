import type { DelegationResult, Delegator } from "../../ports/delegator.ts";
import type { Plan, PlanStep } from "./plan.ts";
import type { PlanProgress, StepTry, TryOutcome } from "./plan-progress.ts";
import {
  isToldUntrusted,
  type StepRecord,
  stepContext,
  stepRequest,
  stepReview,
} from "./step-request.ts";

/** The results of a plan by step, and the delegations that gave them. */
export interface CarriedOut {
  readonly records: readonly StepRecord[];
  /** Every child whose result is in the records, or was before it was tried again. */
  readonly children: readonly string[];
}

export interface CarryOutOptions {
  readonly delegator: Delegator;
  /** Aborts when the plan is no longer awaited. */
  readonly signal: AbortSignal;
  /** What was completed before, by place. */
  readonly earlier: ReadonlyMap<number, StepRecord>;
  readonly attemptTimeoutMs: number;
}

/**
 * Runs the steps of a plan as children of one call. No state here has to survive a crash: the call is
 * made again, and each child is found by its key, open or closed.
 */
export function carryOutPlan(
  plan: Plan,
  progress: PlanProgress,
  { attemptTimeoutMs, delegator, earlier, signal }: CarryOutOptions,
): Promise<CarriedOut> {
  const records: StepRecord[] = plan.steps.map((_, place) => earlier.get(place) ?? { tries: 0 });
  const children: string[] = [];

  async function carryOut(step: PlanStep, begun: StepTry): Promise<TryOutcome> {
    const { key, number, place } = begun;
    const before = earlier.get(place);
    if (before?.result !== undefined) return review(step, before.result, begun, before);
    const context = stepContext(plan, step, records, delegator.results.joinTokens);
    const { refusal, result } = await delegate(delegator, {
      ...stepRequest(step, context),
      attemptTimeoutMs: step.attemptTimeoutMs ?? attemptTimeoutMs,
      untrusted: isToldUntrusted(step, records),
      key,
    });
    if (result === undefined) {
      records[place] = { tries: number, ...(refusal !== undefined && { refusal }) };
      return "refused";
    }
    children.push(result.delegationId);
    const record = { tries: number, result };
    records[place] = record;
    if (result.status !== "completed") return "failed";
    // The work of the step is merged. Later steps wait for the review only if the reviewer changes files, too.
    if (!step.reviewerWrites) delegator.plans.stepSettled(step.id);
    return review(step, result, begun, record);
  }

  async function review(
    step: PlanStep,
    result: DelegationResult,
    { key, place }: StepTry,
    record: StepRecord,
  ): Promise<"completed"> {
    if (step.reviewer === null || signal.aborted || record.review) return "completed";
    const review = await delegate(delegator, {
      ...stepReview(plan, step, result, delegator.results.joinTokens),
      profile: step.reviewer,
      untrusted: result.evidence.untrusted === true,
      key: `${key}-review`,
    });
    if (review.result) children.push(review.result.delegationId);
    records[place] = { ...record, review };
    return "completed";
  }

  return new Promise((resolve, reject) => {
    const advance = (): void => {
      // After a stop was acknowledged, no step may begin.
      if (signal.aborted) {
        reject(signal.reason);
        return;
      }
      for (const begun of progress.start()) {
        const step = plan.steps[begun.place];
        if (step === undefined) continue;
        carryOut(step, begun).then((outcome) => {
          for (const place of progress.settle(begun.place, outcome)) {
            delegator.plans.stepSettled(plan.steps[place]?.id ?? "");
          }
          advance();
        }, reject);
      }
      if (progress.runningCount === 0) resolve({ records, children });
    };
    advance();
  });
}

interface Delegated {
  readonly result?: DelegationResult;
  readonly refusal?: string;
}

async function delegate(
  delegator: Delegator,
  request: Parameters<Delegator["start"]>[0],
): Promise<Delegated> {
  const outcome = await delegator.start(request, "delegate");
  if (!outcome.started) return { refusal: outcome.reason };
  const { delegationId } = outcome;
  const result = (await delegator.results.join([delegationId], undefined)).get(delegationId);
  return result ? { result } : { refusal: `${delegationId} ended without a result.` };
}
