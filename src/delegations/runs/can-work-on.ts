import { type Contract, externalProvider, modelName } from "../../contracts/contract.ts";
import { isPattern } from "../../contracts/selection.ts";
import { isOpen } from "../../events/delegation.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import { messageOf } from "../../ports/message-of.ts";
import { canReachWorkspace } from "../distributed/remote-copy.ts";
import type { EngineParts } from "../engine-parts.ts";

/** Whether this process has what the open delegations of a run need, or the one that is named. */
export async function canWorkOn(
  parts: EngineParts,
  runId: string,
  only?: string,
): Promise<boolean> {
  return (await obstacleToWork(parts, runId, only)) === undefined;
}

/** Why this process cannot work on a run, or on the delegation that is named; undefined: it can. */
export async function obstacleToWork(
  parts: EngineParts,
  runId: string,
  only?: string,
): Promise<MandateError | undefined> {
  const { store } = parts;
  const run = await store.readRun(runId);
  if (run === undefined) return undefined;
  const asked = only === undefined ? [...run.delegations.values()] : [run.delegations.get(only)];
  for (const delegation of asked) {
    if (delegation === undefined || !isOpen(delegation)) continue;
    try {
      const contract = await store.readContract(delegation.id);
      const missing = missingTool(parts, contract);
      if (missing !== undefined) return notHere(delegation.id, `the tool "${missing}"`);
      requireModel(parts, contract);
      if (only === undefined) continue;
      if (!(await canReachWorkspace(parts, run, delegation, contract))) {
        return notHere(delegation.id, "its workspace");
      }
    } catch (error) {
      if (!(error instanceof MandateError)) return notHere(delegation.id, messageOf(error));
      // A contract that cannot be trusted is for recovery to end; a missing key is not.
      if (error.code !== "contract-invalid") return error;
    }
  }
  return undefined;
}

function notHere(id: string, what: string): MandateError {
  const message = `${id} needs ${what}, which this process does not have. Resume the run where it was started.`;
  return new MandateError("not-resumable", message);
}

function missingTool(
  { toolbox }: Pick<EngineParts, "toolbox">,
  { permissions }: Pick<Contract, "permissions">,
): string | undefined {
  return permissions.allowed_tools.find(
    // The tools of servers are found when they are opened.
    (tool) => !(isPattern(tool) || tool.startsWith("mcp__") || toolbox.get(tool) !== undefined),
  );
}

function requireModel({ models }: Pick<EngineParts, "models">, contract: Contract): void {
  if (contract.model.provider !== externalProvider) models.resolve(modelName(contract));
}
