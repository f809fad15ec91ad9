import { isDeepStrictEqual } from "node:util";
import type { Contract } from "../contracts/contract.ts";
import { contextFor } from "../contracts/contract.ts";
import { childrenOf, type RunState } from "../events/run-state.ts";
import type { DelegationRequest, DelegationResult } from "../ports/delegator.ts";
import type { Store } from "../ports/store.ts";
import { resultOf } from "./delegation-result.ts";
import { isFurtherMessage } from "./session.ts";

interface EarlierChild {
  readonly contract: Contract;
  readonly result: DelegationResult;
}

/**
 * The steps that a delegation had completed before it was cancelled or failed: the delegation that
 * resumes it takes their results, since their changes are in the workspace already. A session that a
 * person continues with another message, and a fork, take none.
 */
export class EarlierChildren {
  readonly #store: Store;
  readonly #id: string;
  #children: Promise<EarlierChild[]> | null = null;

  /** `id`: the delegation that resumes the earlier one. */
  constructor(store: Store, id: string) {
    this.#store = store;
    this.#id = id;
  }

  /** A child of this profile that was given the same task. `opening`: of the profile as it is now. */
  async take(
    profile: string,
    request: DelegationRequest,
    opening: Parameters<typeof contextFor>[0],
  ): Promise<DelegationResult | undefined> {
    this.#children ??= this.#read();
    const children = await this.#children;
    const context = contextFor(opening, request.context);
    const place = children.findIndex(({ contract: { profile: by, step, workspace } }) => {
      if (by.id !== profile || step.description !== request.task) return false;
      const [had, asked] = [
        [step.context, step.success_criteria, workspace.owns],
        [context, request.successCriteria ?? [], request.owns ?? []],
      ];
      return isDeepStrictEqual(had, asked);
    });
    // Each result is given out once.
    return place < 0 ? undefined : children.splice(place, 1)[0]?.result;
  }

  async #read(): Promise<EarlierChild[]> {
    const found: EarlierChild[] = [];
    for (let later: string | null = this.#id; later !== null; ) {
      const from: string | null = await this.#resumedBy(later);
      const state = from === null ? undefined : await runOf(this.#store, from);
      for (const { callId, id: child } of state ? childrenOf(state, from) : []) {
        const result = callId?.includes("/") ? state && resultOf(state, child) : null;
        if (result?.status !== "completed") continue;
        found.push({ contract: await this.#store.readContract(child), result });
      }
      later = from;
    }
    return found;
  }

  /** The delegation whose work this one resumes; null: it begins work of its own. */
  async #resumedBy(id: string): Promise<string | null> {
    const { resumedAt, resumedFrom = null } =
      (await runOf(this.#store, id))?.delegations.get(id) ?? {};
    if (resumedFrom === null || typeof resumedAt === "number") return null;
    const now = await this.#store.readContract(id);
    const before = await this.#store.readContract(resumedFrom);
    const closed = (await runOf(this.#store, resumedFrom))?.delegations.get(resumedFrom);
    return isFurtherMessage(before, closed, now.step.description) ? null : resumedFrom;
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

async function runOf(store: Store, id: string): Promise<RunState | undefined> {
  const runId = await store.findRun(id);
  return runId === undefined ? undefined : store.readRun(runId);
}
