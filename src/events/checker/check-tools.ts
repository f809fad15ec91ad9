import { type Contract, externalProvider } from "../../contracts/contract.ts";
import { isDeniedOutright } from "../../contracts/judge-by-rules.ts";
import { includes } from "../../contracts/selection.ts";
import type { StoredEvent } from "../event.ts";
import type { CheckedRun, Known, RunCheck } from "./checked-run.ts";

interface Calls {
  /** What the model asked for in its last turn. */
  asked: ReadonlySet<string>;
  /** By call: the tool while it is under way, null once it has ended or was refused. */
  readonly begun: Map<string, string | null>;
}

/**
 * I10: a call that the model made begins once, if the contract grants its tool, and ends in exactly
 * one way; a refused one never began.
 */
export function checkTools({ report }: CheckedRun): RunCheck {
  const callsOf = new Map<Known, Calls>();
  return {
    see(event, delegation) {
      if (delegation === undefined) return;
      let calls = callsOf.get(delegation);
      if (calls === undefined) {
        calls = { asked: new Set(), begun: new Map() };
        callsOf.set(delegation, calls);
      }
      const problem = follow(event, calls, delegation);
      if (problem) report("I10", problem, { delegationId: delegation.id, seq: event.seq });
      if (event.type === "agent.subagent_closed") callsOf.delete(delegation);
    },
  };
}

function follow(event: StoredEvent, calls: Calls, { contract }: Known): string | undefined {
  switch (event.type) {
    case "agent.model_turn":
      calls.asked = new Set(event.payload.calls?.map(({ id }) => id));
      return unended(calls);
    case "agent.subagent_waiting_for_merge":
    case "agent.subagent_failed":
      return unended(calls);
    case "agent.tool_started": {
      const { call_id: id, tool } = event.payload;
      const isExternal = contract?.model.provider === externalProvider;
      if (!isExternal && !calls.asked.has(id)) return `The model made no call ${id}.`;
      if (calls.begun.has(id)) return `Call ${id} begins a second time.`;
      calls.begun.set(id, tool);
      if (contract !== undefined && contract !== null && !isGranted(contract, tool)) {
        return `${tool} runs, and the contract does not grant it.`;
      }
      return undefined;
    }
    case "agent.tool_completed":
    case "agent.tool_failed":
    case "agent.tool_outcome_unknown": {
      const { call_id: id, tool } = event.payload;
      const begun = calls.begun.get(id);
      calls.begun.set(id, null);
      if (begun === undefined) return `Call ${id} ends without having begun.`;
      if (begun === null) return `Call ${id} ends a second time.`;
      return begun === tool ? undefined : `Call ${id} begins as ${begun} and ends as ${tool}.`;
    }
    case "agent.tool_denied": {
      const { call_id: id } = event.payload;
      if (calls.begun.has(id)) return `Call ${id} is refused after it began.`;
      calls.begun.set(id, null);
      return undefined;
    }
    default:
      return undefined;
  }
}

function isGranted({ permissions }: Contract, tool: string): boolean {
  return (
    includes(permissions.allowed_tools, tool) && !isDeniedOutright(permissions.rules ?? [], tool)
  );
}

function unended({ begun }: Calls): string | undefined {
  for (const [id, tool] of begun) {
    if (tool === null) continue;
    begun.set(id, null);
    return `Call ${id} of ${tool} never ends.`;
  }
  return undefined;
}
