import type { Contract } from "../../contracts/contract.ts";
import type { Delegation } from "../../events/delegation.ts";
import { sha256 } from "../../events/hash-chain.ts";
import { tellPruned } from "../../events/pruned-runs.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import type { Store } from "../../ports/store.ts";

/** A contract as it was written, or the reason why it counts no more. */
export async function readStoredContract(
  store: Pick<Store, "readEvents">,
  delegationId: string,
  row: Readonly<Record<string, unknown>> | undefined,
): Promise<Contract> {
  if (row === undefined) {
    const pruned = await tellPruned(store, delegationId);
    const message = pruned ?? `There is no delegation ${delegationId}.`;
    throw new MandateError("unknown-delegation", message);
  }
  const json = String(row["context_json"]);
  if (sha256(json) !== row["contract_hash"]) throw new TamperedContract(delegationId);
  const { parseContract } = await import("../../contracts/parse-contract.ts");
  return parseContract(json);
}

/** A delegation whose contract was changed may still be ended for that very reason. */
export function isTrusted(delegation: Delegation): boolean {
  if (delegation.status === "failed") return delegation.failure.code === "policy_denied";
  return delegation.status === "closed" && delegation.closeReason === "policy_denied";
}

export class TamperedContract extends MandateError {
  readonly delegationId: string;

  constructor(delegationId: string) {
    super(
      "contract-invalid",
      `The stored contract of delegation ${delegationId} is not the one it was created with. It may do nothing more.`,
    );
    this.delegationId = delegationId;
  }
}
