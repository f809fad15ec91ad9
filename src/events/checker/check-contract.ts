import { authorityExcess } from "../../contracts/authority.ts";
import {
  type Contract,
  clientOf,
  mayDelegate,
  mayUse,
  memoryPermissions,
} from "../../contracts/contract.ts";
import { includes, type Selection } from "../../contracts/selection.ts";
import { isBelow } from "../../contracts/write-roots.ts";
import { numberOf } from "../../ports/identity.ts";
import type { CheckedRun, Known, RunCheck } from "./checked-run.ts";

/** I2: the stored contract is exactly the one that the delegation was created with. */
export function checkContract(run: CheckedRun): RunCheck {
  const { report } = run;
  return {
    see(event, delegation) {
      if (event.type !== "agent.subagent_created" || delegation === undefined) return;
      const problem = storedProblem(run, delegation);
      if (problem) report("I2", problem, { delegationId: delegation.id, seq: event.seq });
    },
    end() {
      for (const { id, number } of run.rows.delegations) {
        if (!run.delegations.has(id)) {
          report("I2", "It is stored, but has no creation in the log.", { delegationId: id });
        } else if (numberOf(id) !== number) {
          report("I7", "It is stored under another number than that of its id.", {
            delegationId: id,
          });
        }
      }
    },
  };
}

function storedProblem(run: CheckedRun, { id, created, contract }: Known): string | undefined {
  const row = run.rowOf(id);
  // Another invariant reports a missing row.
  if (row === undefined) return undefined;
  if (row.contractHash !== created.contract_hash) {
    return "The stored hash of its contract is not the one in the log.";
  }
  if (contract === undefined) return "Its stored contract is not the one in the log.";
  const { parent, profile } = contract;
  const isSame =
    parent.run_id === run.id &&
    parent.sub_agent_id === created.parent_id &&
    parent.step_idx === created.step_idx &&
    parent.depth === created.depth &&
    profile.id === created.profile &&
    isSameClient(contract, created);
  return isSame ? undefined : "Its contract and its creation name different positions in the run.";
}

/** Events of earlier versions have the program's name as the profile. */
function isSameClient(contract: Contract, { client, profile }: Known["created"]): boolean {
  const named = clientOf(contract);
  if (client !== undefined) return client === named;
  return named === undefined || named === profile;
}

/** I11: a child holds nothing that its parent could not delegate, and the parent could have the child. */
export function checkContainment({ report }: CheckedRun): RunCheck {
  return {
    see(event, delegation) {
      if (event.type !== "agent.subagent_created" || delegation === undefined) return;
      for (const problem of containmentProblems(delegation)) {
        report("I11", problem, { delegationId: delegation.id, seq: event.seq });
      }
    },
  };
}

function* containmentProblems({ contract, created, parent }: Known): Generator<string> {
  const { depth, parent_id: parentId } = created;
  if (parentId === null) {
    // The root of a person has depth 0; a child of another program's agent may have depth 1.
    if (depth > 1) yield `It has no parent, but depth ${depth}.`;
    return;
  }
  if (parent === null) {
    yield `Its parent ${parentId} does not exist.`;
    return;
  }
  if (parent.phase !== "running") yield `Its parent ${parent.id} is ${parent.phase}.`;
  if (depth !== parent.created.depth + 1) {
    yield `Its depth is ${depth}, and that of its parent ${parent.created.depth}.`;
  }
  if (contract && parent.contract) yield* excesses(contract, parent.contract);
}

function* modelExcesses({ model }: Contract, ceiling: Selection): Generator<string> {
  const names = [`${model.provider}/${model.model}`, ...(model.fallbacks ?? [])];
  for (const name of names) {
    if (!includes(ceiling, name)) yield `It runs on ${name}, which its parent may not delegate.`;
    else if (!includes(model.allow, name)) yield `It runs on ${name}, which it may not use.`;
  }
}

/** By its isolation a child works in its parent's folder, in a copy of it, or in a part of it. */
function otherFolder(
  { copy, isolation, root }: Contract["workspace"],
  parent: Contract["workspace"],
): string | undefined {
  if (root === null) return undefined;
  const problem = "It works in another folder than its parent.";
  if (parent.root === null) return problem;
  if (isolation !== "sandbox" && copy !== undefined)
    return "It has a working copy, but its isolation is not a copy.";
  switch (isolation) {
    case "sandbox":
      if (copy === undefined) return "Its isolation is a copy, but it has no working copy.";
      return copy.of === parent.root ? undefined : "It works in a copy of another folder.";
    case "custom":
      return isBelow(root, parent.root) ? undefined : problem;
    default:
      return root === parent.root ? undefined : problem;
  }
}

function* excesses(child: Contract, parent: Contract): Generator<string> {
  const ceiling = mayDelegate(parent);
  const used = authorityExcess(mayUse(child), ceiling);
  if (used.length > 0) yield `It may use more than its parent may delegate: ${used.join(", ")}.`;
  const passed = authorityExcess(mayDelegate(child), ceiling);
  if (passed.length > 0) yield `It may delegate more than its parent: ${passed.join(", ")}.`;
  if (!parent.permissions.can_spawn_children) yield "Its parent may not have children.";
  const levels = parent.permissions.max_delegation_depth;
  if (child.permissions.max_delegation_depth >= Math.max(1, levels)) {
    yield `Its parent has ${levels} levels of delegation left, and it has as many or more.`;
  }
  yield* modelExcesses(child, ceiling.models);
  if (child.permissions.can_spawn_children && child.permissions.allowed_tools.length === 0) {
    yield "It may have children, but has no tool to create them.";
  }
  const [saves, above] = [child.permissions.memory, parent.permissions.memory];
  if (saves && above && memoryPermissions.indexOf(saves) > memoryPermissions.indexOf(above)) {
    yield `It may save memories as ${saves}, and its parent as ${above} only.`;
  }
  const { cost } = parent.budget;
  if (cost !== null && (child.budget.cost === null || child.budget.cost > cost)) {
    yield "It may cost more than its parent.";
  }
  if (child.workspace.allow_writes && child.permissions.write_roots.length === 0) {
    yield "It may write, but has no folder to write in.";
  }
  const elsewhere = otherFolder(child.workspace, parent.workspace);
  if (elsewhere !== undefined) yield elsewhere;
  if (child.budget.tokens > parent.budget.tokens) yield "Its budget is larger than its parent's.";
  if (child.deadlines.total > parent.deadlines.total) yield "It has more time than its parent.";
  const { id, role } = child.principal;
  if (id !== parent.principal.id || role !== parent.principal.role) {
    yield "It acts for another principal than its parent.";
  }
}
