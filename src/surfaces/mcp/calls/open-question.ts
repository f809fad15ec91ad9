import { openAskOf, shownName } from "../../../events/delegation.ts";
import type { RunState } from "../../../events/run-state.ts";

/** A question of an agent that waits for a person, whatever its depth. */
export interface OpenQuestion {
  readonly id: string;
  readonly runId: string;
  readonly delegationId: string;
  readonly who: string;
  readonly question: string;
  /** Whether a call may be made or a change taken over: only a person can consent. */
  readonly isApproval: boolean;
  readonly deadlineAt: number;
  readonly default: string | null;
  /** The delegation that asks and those above it. */
  readonly line: readonly string[];
}

export function openQuestions(run: RunState): readonly OpenQuestion[] {
  return [...run.delegations.values()].flatMap((delegation) => {
    const ask = openAskOf(delegation);
    if (ask === null) return [];
    return {
      id: ask.id,
      runId: run.id,
      delegationId: delegation.id,
      who: shownName(delegation),
      question: ask.question,
      isApproval: ask.kind === "approval",
      deadlineAt: ask.deadlineAt,
      default: ask.default,
      line: lineOf(run, delegation.id),
    };
  });
}

function lineOf(run: RunState, id: string): readonly string[] {
  const line: string[] = [];
  for (let at: string | null = id; at !== null; at = run.delegations.get(at)?.parentId ?? null) {
    line.push(at);
  }
  return line;
}
