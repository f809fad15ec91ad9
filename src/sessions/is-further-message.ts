import type { Contract } from "../contracts/contract.ts";
import type { Delegation } from "../events/delegation.ts";

/**
 * Whether the task of a delegation that continues another one is something new that a person
 * said. Where nothing was completed and the task is the same, the old task continues.
 */
export function isFurtherMessage(
  before: Pick<Contract, "step">,
  ended: Delegation | undefined,
  task: string,
): boolean {
  const isCompleted =
    ended?.status === "waiting_for_merge" ||
    (ended?.status === "closed" && ended.finalStatus === "completed");
  return isCompleted || before.step.description !== task;
}
