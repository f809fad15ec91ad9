import type { Contract } from "../../contracts/contract.ts";
import type { RecordedDelegation } from "./recording.ts";

/**
 * The contract under which a delegation lives again: the recorded one, without what is about the
 * world outside. Deadlines do not run, since what ran into one is in the log; no folder is opened
 * and no report written; what a rule said of a call, and whether a person was asked, is in the log.
 */
export function replayableContract({ contract, events }: RecordedDelegation): Contract {
  const { rules: _rules, ...permissions } = contract.permissions;
  return {
    ...contract,
    permissions: wroteOutside(events) ? permissions : { ...permissions, write_roots: ["/"] },
    execution: { ...contract.execution, attempt_timeout_ms: longest },
    outputs: { ...contract.outputs, report_path_pattern: null },
    workspace: { ...contract.workspace, root: null },
    // A call that its agent's end left behind is waited for by nobody, but holds a timer so long.
    deadlines: {
      first_token: longest,
      stall: longest,
      tool: longestCall,
      idle: longest,
      total: longest,
    },
  };
}

/** Then its write roots decide again; else there is nothing for them to decide. */
function wroteOutside(events: RecordedDelegation["events"]): boolean {
  return events.some(
    ({ payload, type }) =>
      type === "agent.subagent_failed" && payload.cause.code === "wrote_outside",
  );
}

const longestCall = 30_000;

/** What a timer can hold. */
const longest = 2 ** 31 - 1;
