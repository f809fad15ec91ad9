import { isDeepStrictEqual } from "node:util";
import { type Contract, contextFor } from "../../contracts/contract.ts";
import type { EventPayloads } from "../../events/event.ts";
import { orderOfMerges, stepOfKey } from "../../events/planned-steps.ts";
import { childrenOf, type RunState } from "../../events/run-state.ts";
import type { DelegationRequest, DelegationResult } from "../../ports/delegator.ts";
import type { Store } from "../../ports/store.ts";
import { resultOf } from "../../sessions/delegation-result.ts";
import { isFurtherMessage } from "../../sessions/session.ts";
import { MergeOrder } from "../changes/merge-order.ts";
import type { LiveDelegation } from "../live-delegation.ts";

interface EarlierChild {
  readonly contract: Contract;
  readonly result: DelegationResult;
}

/**
 * What the plans of an agent had completed before it was interrupted: it goes on from one that was
 * cancelled or failed, and what that one's children made is in the workspace already. A session that
 * a person continues with something new, and a fork, begin anew.
 */
export class EarlierChildren {
  readonly #agent: LiveDelegation;
  #children: Promise<EarlierChild[]> | null = null;

  constructor(agent: LiveDelegation) {
    this.#agent = agent;
  }

  /** A child that was given the same to do; each is given out once. */
  async take(profile: string, request: DelegationRequest): Promise<DelegationResult | undefined> {
    this.#children ??= earlierChildren(this.#agent);
    const children = await this.#children;
    if (children.length === 0) return undefined;
    const { opening } = this.#agent.run.parts.profiles.get(profile) ?? {};
    const context = contextFor(opening, request.context);
    const place = children.findIndex(({ contract: { profile: by, step, workspace } }) => {
      if (by.id !== profile || step.description !== request.task) return false;
      const [had, asked] = [
        [step.context, step.success_criteria, workspace.owns],
        [context, request.successCriteria ?? [], request.owns ?? []],
      ];
      return isDeepStrictEqual(had, asked);
    });
    return place < 0 ? undefined : children.splice(place, 1)[0]?.result;
  }
}

/** The result of a closed delegation, whichever run it was in. */
export async function storedResult(
  store: Store,
  id: string,
): Promise<DelegationResult | undefined> {
  const run = await runOf(store, id);
  return (run && resultOf(run, id)) ?? undefined;
}

async function earlierChildren({ id, run }: LiveDelegation): Promise<EarlierChild[]> {
  const { store } = run.parts;
  const found: EarlierChild[] = [];
  for (let later: string | null = id; later !== null; ) {
    const from: string | null = await interruptedBefore(store, later);
    const state = from === null ? undefined : await runOf(store, from);
    for (const { callId, id: child } of state ? childrenOf(state, from) : []) {
      const result = callId?.includes("/") ? state && resultOf(state, child) : null;
      if (result?.status !== "completed") continue;
      found.push({ contract: await store.readContract(child), result });
    }
    later = from;
  }
  return found;
}

/** Whom it goes on from, where it is the same work that goes on. */
async function interruptedBefore(store: Store, id: string): Promise<string | null> {
  const { resumedAt, resumedFrom = null } = (await runOf(store, id))?.delegations.get(id) ?? {};
  if (resumedFrom === null || typeof resumedAt === "number") return null;
  const [now, before] = [await store.readContract(id), await store.readContract(resumedFrom)];
  const ended = (await runOf(store, resumedFrom))?.delegations.get(resumedFrom);
  return isFurtherMessage(before, ended, now.step.description) ? null : resumedFrom;
}

async function runOf(store: Store, id: string): Promise<RunState | undefined> {
  const runId = await store.findRun(id);
  return runId === undefined ? undefined : store.readRun(runId);
}

/** What one child of a plan works for: the index of its step, and which of its children it is. */
export interface PlannedChild {
  readonly index: number;
  /** "" for the first try, "-2" for the second, "-review" for its review. */
  readonly suffix: string;
}

/**
 * A plan that a call carries out: which index each child has, and which steps the merges of later
 * ones wait for. Both follow from the plan alone, so they are the same however long each step takes.
 */
export class LivePlan {
  readonly #agent: LiveDelegation;
  readonly #first: number;
  readonly #places: ReadonlyMap<string, number>;

  /** Undefined for a plan of an earlier version, whose children are counted as they are made. */
  static of(agent: LiveDelegation, plan: EventPayloads["run.planned"]): LivePlan | undefined {
    const { first_step: first } = plan;
    return first === undefined ? undefined : new LivePlan(agent, plan, first);
  }

  private constructor(agent: LiveDelegation, plan: EventPayloads["run.planned"], first: number) {
    const { steps } = plan;
    this.#agent = agent;
    this.#first = first;
    this.#places = new Map(steps.map(({ key }, place) => [key, place]));
    agent.process.merges ??= new MergeOrder();
    const sequence = orderOfMerges(plan).map((place) => first + place);
    agent.process.merges.expect(sequence, (index) => steps[index - first]?.done_by !== undefined);
    // Once its call is stopped no further step begins, and merges wait for none.
    agent.work.onStop(() => {
      for (const index of sequence) agent.process.merges?.settle(index);
    });
  }

  find(key: string): PlannedChild | undefined {
    const step = stepOfKey(this.#places, key);
    return step && { index: this.#first + step.place, suffix: step.suffix };
  }

  settle(key: string): void {
    const place = this.#places.get(key);
    if (place !== undefined) this.#agent.process.merges?.settle(this.#first + place);
  }
}
