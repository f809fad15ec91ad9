import { type Contract, clientOf } from "../../contracts/contract.ts";
import { numberOf } from "../../ports/identity.ts";
import type { CheckedRun, Known, RunCheck } from "./checked-run.ts";

/** I2: the stored contract is, to the letter, the one that its delegation was created with. */
export function checkContract(run: CheckedRun): RunCheck {
  const { report } = run;
  return {
    see(event, delegation) {
      if (event.type !== "agent.subagent_created" || delegation === undefined) return;
      const problem = problemOf(run, delegation);
      if (problem) report("I2", problem, { delegationId: delegation.id, seq: event.seq });
    },
    end() {
      for (const { id, number } of run.rows.delegations) {
        if (!run.delegations.has(id)) {
          report("I2", "It is stored, but the log does not create it.", { delegationId: id });
        } else if (numberOf(id) !== number) {
          report("I7", "It is stored under another number than its id has.", { delegationId: id });
        }
      }
    },
  };
}

function problemOf(run: CheckedRun, { id, created, contract }: Known): string | undefined {
  const row = run.rowOf(id);
  // That it is not stored at all is another invariant's finding.
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
  return isSame ? undefined : "Its contract names another place in the run than its creation.";
}

/** Events of earlier versions have the program's name as the profile's. */
function isSameClient(contract: Contract, { client, profile }: Known["created"]): boolean {
  const named = clientOf(contract);
  if (client !== undefined) return client === named;
  return named === undefined || named === profile;
}
