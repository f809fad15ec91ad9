import type { Contract } from "../../contracts/contract.ts";

/**
 * What a child was given to do, and with what: two with the same key are asked the same question by
 * the same means. Whose children they are, their place in the run, and their limits are not in it;
 * a child that a limit had cut is no one to follow.
 */
export function contentKey(contract: Contract): string {
  const { execution, exit, model, permissions, profile, servers, step, workspace } = contract;
  return JSON.stringify([
    // The assembled prompt has what it was shown of the workspace, and whom it could delegate to.
    [profile.hash, profile.prompt, profile.capability],
    [step.description, step.context, step.success_criteria],
    model,
    permissions,
    servers,
    exit,
    execution.max_turns,
    // Which state of the folder it was: what it was shown of that is compared turn by turn.
    [workspace.isolation, workspace.allow_writes, workspace.owns],
  ]);
}
