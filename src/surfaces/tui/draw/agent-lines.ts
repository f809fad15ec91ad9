import { isWatching, labelOf } from "../../../application/commands/runs/describe-run.ts";
import type { Contract } from "../../../contracts/contract.ts";
import { type Delegation, isOpen, openAskOf } from "../../../events/delegation.ts";
import { earlyAnswerIn } from "../../../sessions/delegation-result.ts";
import type { RunView } from "../../cli/run-view.ts";
import type { AgentLine } from "../chat-state.ts";

type OnInterrupt = Contract["on_parent_interrupt"];

/** Everybody at work in some runs, for the ledger. */
export function agentLines(
  views: Iterable<RunView>,
  contracts: ReadonlyMap<string, OnInterrupt>,
): readonly AgentLine[] {
  return [...views].flatMap(({ state }) => {
    if (state.outcome !== null) return [];
    const isAnswered = earlyAnswerIn(state) !== null;
    return [...state.delegations.values()].filter(isOpen).map((delegation) => {
      const onInterrupt = contracts.get(delegation.id);
      return {
        id: delegation.id,
        runId: state.id,
        label: labelOf(delegation),
        state: isAnswered && delegation.depth === 0 ? "answered" : stateOf(delegation),
        isRoot: delegation.depth === 0,
        isBackground: isAnswered && delegation.depth > 0 && !isWatching(delegation),
        isWatching: isWatching(delegation),
        isAsking: openAskOf(delegation) !== null,
        ...(onInterrupt !== undefined && { onInterrupt }),
      };
    });
  });
}

function stateOf(delegation: Delegation): string {
  if (openAskOf(delegation) !== null) return "asks you";
  if (delegation.status === "created") return "queued";
  if (delegation.status !== "running") return "handing in";
  if (delegation.waitingOn.on === "paused") return "paused";
  return isWatching(delegation) ? "watching" : "running";
}
