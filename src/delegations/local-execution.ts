import type { Cause } from "../events/cause.ts";
import type { RunState } from "../events/run-state.ts";
import type { CancelOutcome, DelegationResult } from "../ports/delegator.ts";
import { Budget } from "./budget.ts";
import type { CopyTravel, Execution, RunKeeping } from "./execution.ts";
import type { LiveDelegation } from "./live-delegation.ts";
import type { LiveRun } from "./live-run.ts";
import { cancelLive } from "./suspend/interrupt.ts";
import { queue } from "./work.ts";

/** One process owns the run and works on all of it. */
export class LocalExecution implements Execution {
  readonly recorded: Execution["recorded"] = { run: () => ({}), delegation: () => ({}) };
  readonly log = null;
  readonly #run: LiveRun;

  constructor(run: LiveRun) {
    this.#run = run;
  }

  get travel(): CopyTravel {
    return {
      packStart: async () => undefined,
      packWork: async () => undefined,
      receiveWork: async () => undefined,
      copyFor: async ({ contract }) => {
        const { copy } = contract.workspace;
        if (copy === undefined) return null;
        const copies = await this.#run.parts.copies();
        return copies.has(copy.id) ? copies.take(copy.id) : undefined;
      },
    };
  }

  budget(_id: string | null, above: Budget | null, tokens: number, dollars: number | null): Budget {
    return new Budget(above, tokens, dollars);
  }

  begin(agent: LiveDelegation): undefined {
    if (!this.#run.isHeld) queue(agent);
  }

  start(_root: LiveDelegation, { waitForTurn }: RunKeeping): Promise<void> | undefined {
    return this.#run.isHeld ? waitForTurn() : undefined;
  }

  hold(): undefined {}

  awaited(result: Promise<DelegationResult>): Promise<DelegationResult> {
    return result;
  }

  stopWaiting(): void {}

  isRemote(): boolean {
    return false;
  }

  owns(_agent: LiveDelegation, { fence, worker }: RunState): boolean {
    const { ownership } = this.#run.settings;
    return fence === ownership.fence && worker === ownership.worker;
  }

  cancel(agent: LiveDelegation, cause: Cause): Promise<CancelOutcome> {
    return cancelLive(agent, cause);
  }

  endRemoteChildren(): undefined {}

  answersEarly(): boolean {
    return true;
  }

  handsOver(): boolean {
    return false;
  }

  knowAll(): undefined {}

  leave(): void {}
}
