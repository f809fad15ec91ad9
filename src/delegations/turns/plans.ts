import type { EventPayloads, PlannedStep } from "../../events/event.ts";
import { orderOfMerges, stepOfKey } from "../../events/planned-steps.ts";
import type { DelegationRequest, DelegationResult, PlanRecorder } from "../../ports/delegator.ts";
import { EarlierChildren, storedResult } from "../../sessions/earlier-children.ts";
import { MergeOrder } from "../changes/merge-order.ts";
import type { LiveDelegation } from "../live-delegation.ts";

/** What one child of a plan works for: the index of its step, and which of its children it is. */
export interface PlannedChild {
  readonly index: number;
  /** "" for the first try, "-2" for the second, "-review" for its review. */
  readonly suffix: string;
}

interface PlanningCall {
  readonly live: LiveDelegation;
  readonly callId: string;
  profileBehind(name: string): string | undefined;
  /** Notes what the call is given. */
  handing(result: DelegationResult | undefined): DelegationResult | undefined;
}

/**
 * The plan that one call carries out: the index of each child, and the steps that the merges of later
 * ones wait for. Both follow from the plan alone, so they are the same however long each step takes.
 */
export class CallPlan implements PlanRecorder {
  readonly #of: PlanningCall;
  #earlier: EarlierChildren | undefined;
  #first = 0;
  /** The places of the steps by their keys; none in plans of earlier versions, which had no indexes. */
  #places: ReadonlyMap<string, number> = new Map();

  constructor(of: PlanningCall) {
    this.#of = of;
  }

  async record(
    steps: readonly PlannedStep[],
    mergeOrder: readonly number[] = [...steps.keys()],
  ): Promise<readonly number[]> {
    const { callId, live } = this.#of;
    const { process, run } = live;
    // After a crash the same call is repeated, and its steps keep their indexes.
    const before = this.#recorded();
    if (before) {
      this.#begin(before);
      return before.first_step === undefined ? mergeOrder : orderOfMerges(before);
    }
    const payload = {
      by: live.id,
      call_id: callId,
      first_step: process.nextStep,
      ...(mergeOrder.some((place, rank) => place !== rank) && { merge_order: mergeOrder }),
      steps,
    };
    process.nextStep += steps.length;
    run.history.plans.push(payload);
    this.#begin(payload);
    const appended = run.append([{ type: "run.planned", payload }]);
    process.appends.add(appended);
    await appended;
    return mergeOrder;
  }

  #recorded(): EventPayloads["run.planned"] | undefined {
    const { callId, live } = this.#of;
    return live.run.history.plans.find(({ by, call_id: of }) => by === live.id && of === callId);
  }

  #begin(plan: EventPayloads["run.planned"]): void {
    const { first_step: first, steps } = plan;
    if (first === undefined) return;
    const { process, work } = this.#of.live;
    this.#first = first;
    this.#places = new Map(steps.map(({ key }, place) => [key, place]));
    process.merges ??= new MergeOrder();
    const sequence = orderOfMerges(plan).map((place) => first + place);
    process.merges.expect(sequence, (index) => steps[index - first]?.done_by !== undefined);
    // Once its call is stopped no further step begins, and merges wait for none.
    work.onStop(() => {
      for (const index of sequence) process.merges?.settle(index);
    });
  }

  find(key: string): PlannedChild | undefined {
    const step = stepOfKey(this.#places, key);
    return step && { index: this.#first + step.place, suffix: step.suffix };
  }

  stepSettled(key: string): void {
    const place = this.#places.get(key);
    if (place !== undefined) this.#of.live.process.merges?.settle(this.#first + place);
  }

  wasBegun(key: string): boolean {
    const { callId, live } = this.#of;
    return live.run.delegations.byCall.has(`${live.id} ${callId}/${key}`);
  }

  async earlier(key: string, request: DelegationRequest): Promise<DelegationResult | undefined> {
    const { live } = this.#of;
    const { profiles, store } = live.run.parts;
    const step = this.#recorded()?.steps.find((one) => one.key === key);
    // After a crash the same call is repeated, and its plan has the steps that were done before it.
    if (step) {
      if (step.done_by === undefined) return undefined;
      return this.#of.handing(await storedResult(store, step.done_by));
    }
    this.#earlier ??= new EarlierChildren(store, live.id);
    const profile = this.#of.profileBehind(request.profile ?? "") ?? "";
    const opening = profiles.get(profile)?.opening;
    return this.#of.handing(await this.#earlier.take(profile, request, opening));
  }
}
