import { isWaitingGoal, type NoBranch, openBranch, workOnBranch } from "../distributed/branch.ts";
import type { Branches } from "../distributed/branches.ts";
import type { DistributedExecution } from "../distributed/distributed-execution.ts";
import type { EngineParts } from "../engine-parts.ts";
import type { RunGrant } from "../start/run-grant.ts";
import { canWorkOn } from "./can-work-on.ts";
import type { GoalQueue } from "./goal-queue.ts";

interface BranchWorking {
  readonly parts: EngineParts;
  readonly grant: RunGrant;
  readonly branches: Branches;
  readonly goals: GoalQueue;
}

/** Works on single delegations of runs that are spread, as a queue hands them out. */
export class BranchWorker {
  readonly #own: BranchWorking;
  /** What this process has claimed, or is about to. */
  readonly #atWorkOn = new Set<string>();

  constructor(own: BranchWorking) {
    this.#own = own;
  }

  async workOn(
    runId: string,
    delegationId: string,
    isLastResort: boolean,
  ): Promise<NoBranch | "unfit"> {
    const isFit = isLastResort || (await canWorkOn(this.#own.parts, runId, delegationId));
    if (!isFit) return "unfit";
    // Two of this process would present the same claim.
    if (this.#atWorkOn.has(delegationId)) return "busy";
    this.#atWorkOn.add(delegationId);
    try {
      return await this.#claim(runId, delegationId);
    } finally {
      this.#atWorkOn.delete(delegationId);
    }
  }

  async #claim(runId: string, delegationId: string): Promise<NoBranch> {
    const { branches, goals, grant, parts } = this.#own;
    let opened: DistributedExecution | undefined;
    try {
      const branch = await openBranch(parts, grant, runId, delegationId, (one) => {
        opened = one;
        branches.add(one);
      });
      if (typeof branch === "string") return branch;
      // Now it is known where it works.
      branches.add(branch);
      if (isWaitingGoal(branch)) goals.hold(branch.run);
      const { run } = branch;
      await workOnBranch(branch);
      if (run.isHeld) await goals.advance();
      await branch.left.promise;
      return run.lost ? "busy" : "done";
    } finally {
      if (opened !== undefined) branches.remove(opened);
    }
  }
}
