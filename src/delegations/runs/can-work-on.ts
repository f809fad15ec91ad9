import { type Contract, externalProvider, modelName } from "../../contracts/contract.ts";
import { isPattern } from "../../contracts/selection.ts";
import { isOpen } from "../../events/delegation.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import { canReachWorkspace } from "../changes/remote-copy.ts";
import type { EngineParts } from "../engine-parts.ts";

/** Whether this process has what the open delegations of a run need, or the one that is named. */
export async function canWorkOn(
  parts: EngineParts,
  runId: string,
  only?: string,
): Promise<boolean> {
  const { store } = parts;
  const run = await store.readRun(runId);
  if (run === undefined) return true;
  const asked = only === undefined ? [...run.delegations.values()] : [run.delegations.get(only)];
  for (const delegation of asked) {
    if (delegation === undefined || !isOpen(delegation)) continue;
    try {
      const contract = await store.readContract(delegation.id);
      if (!hasTools(parts, contract)) return false;
      requireModel(parts, contract);
      if (only === undefined) continue;
      if (!(await canReachWorkspace(parts, run, delegation, contract))) return false;
    } catch (error) {
      // A contract that cannot be trusted is for recovery to end; a missing key is not.
      if (!(error instanceof MandateError) || error.code !== "contract-invalid") return false;
    }
  }
  return true;
}

function hasTools(
  { toolbox }: Pick<EngineParts, "toolbox">,
  { permissions }: Pick<Contract, "permissions">,
): boolean {
  return permissions.allowed_tools.every(
    // The tools of servers are found when they are opened.
    (tool) => isPattern(tool) || tool.startsWith("mcp__") || toolbox.get(tool) !== undefined,
  );
}

function requireModel({ models }: Pick<EngineParts, "models">, contract: Contract): void {
  if (contract.model.provider !== externalProvider) models.resolve(modelName(contract));
}
