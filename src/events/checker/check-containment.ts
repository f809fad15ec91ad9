import { authorityExcess } from "../../contracts/authority.ts";
import { type Contract, mayDelegate, mayUse, memoryPermissions } from "../../contracts/contract.ts";
import { includes, type Selection } from "../../contracts/selection.ts";
import { isBelow } from "../../contracts/write-roots.ts";
import type { CheckedRun, Known, RunCheck } from "./checked-run.ts";

/** I11: a child holds nothing that its parent could not hand on, and its parent could have it. */
export function checkContainment({ report }: CheckedRun): RunCheck {
  return {
    see(event, delegation) {
      if (event.type !== "agent.subagent_created" || delegation === undefined) return;
      for (const problem of problemsOf(delegation)) {
        report("I11", problem, { delegationId: delegation.id, seq: event.seq });
      }
    },
  };
}

function* problemsOf({ contract, created, parent }: Known): Generator<string> {
  const { depth, parent_id: parentId } = created;
  if (parentId === null) {
    // A person's root agent stands at 0; what an agent of another program delegates to, at 1.
    if (depth > 1) yield `It has no parent and stands at depth ${depth}.`;
    return;
  }
  if (parent === null) {
    yield `Its parent ${parentId} does not exist.`;
    return;
  }
  if (parent.phase !== "running") yield `Its parent ${parent.id} is ${parent.phase}.`;
  if (depth !== parent.created.depth + 1) {
    yield `It stands at depth ${depth}, its parent at ${parent.created.depth}.`;
  }
  if (contract && parent.contract) yield* excesses(contract, parent.contract);
}

function* modelExcesses({ model }: Contract, ceiling: Selection): Generator<string> {
  const names = [`${model.provider}/${model.model}`, ...(model.fallbacks ?? [])];
  for (const name of names) {
    if (!includes(ceiling, name)) yield `It runs on ${name}, which its parent may not hand on.`;
    else if (!includes(model.allow, name)) yield `It runs on ${name}, which it may not use.`;
  }
}

/** Its parent's folder, a copy of that one, or a part of it: as its isolation says, and no other. */
function otherFolder(
  { copy, isolation, root }: Contract["workspace"],
  parent: Contract["workspace"],
): string | undefined {
  if (root === null) return undefined;
  const problem = "It works in another folder than its parent.";
  if (parent.root === null) return problem;
  if (isolation !== "sandbox" && copy !== undefined) return "It has a copy, and is to share.";
  switch (isolation) {
    case "sandbox":
      if (copy === undefined) return "It is to work in a copy, and has none.";
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
  if (used.length > 0) yield `It may use more than its parent hands on: ${used.join(", ")}.`;
  const passed = authorityExcess(mayDelegate(child), ceiling);
  if (passed.length > 0) yield `It may hand on more than its parent: ${passed.join(", ")}.`;
  if (!parent.permissions.can_spawn_children) yield "Its parent may not have children.";
  const levels = parent.permissions.max_delegation_depth;
  if (child.permissions.max_delegation_depth >= Math.max(1, levels)) {
    yield `Below its parent ${levels} levels are left, below itself as many or more.`;
  }
  yield* modelExcesses(child, ceiling.models);
  if (child.permissions.can_spawn_children && child.permissions.allowed_tools.length === 0) {
    yield "It may have children, and no tool to make them with.";
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
    yield "It may write, and there is no folder to write in.";
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
