import type { Store } from "../../ports/store.ts";
import type { Delegation } from "../delegation.ts";
import type { EventPayloads, StoredEvent } from "../event.ts";
import { sha256 } from "../hash-chain.ts";
import type { RunState } from "../run-state.ts";
import type { Seal } from "../seal.ts";
import type { CheckedRun, Known, RunCheck } from "./checked-run.ts";

interface Tally {
  prompt: number;
  completion: number;
  turns: number;
  toolCalls: number;
  attempts: number;
  outputHash: string | null;
  /** The delegation is tainted. */
  isMarked: boolean;
}

/** I15: an output has its recorded hash, and a seal agrees with the log. */
export function checkSeals({ report }: CheckedRun): RunCheck {
  const tallies = new Map<Known, Tally>();
  return {
    see(event, delegation) {
      if (delegation === undefined) return;
      const tally = tallies.get(delegation) ?? emptyTally();
      tallies.set(delegation, tally);
      const problem = count(event, tally);
      if (problem) report("I15", problem, { delegationId: delegation.id, seq: event.seq });
      if (event.type === "agent.subagent_closed") tallies.delete(delegation);
    },
  };
}

function emptyTally(): Tally {
  const counts = { prompt: 0, completion: 0, turns: 0, toolCalls: 0, attempts: 0 };
  return { ...counts, outputHash: null, isMarked: false };
}

function count(event: StoredEvent, tally: Tally): string | undefined {
  switch (event.type) {
    case "agent.subagent_attempt":
      tally.attempts = event.payload.attempt;
      return undefined;
    case "agent.model_turn":
      tally.turns++;
      return undefined;
    case "agent.budget_settled":
      tally.prompt += event.payload.prompt;
      tally.completion += event.payload.completion;
      return undefined;
    case "agent.budget_corrected": {
      const { completion, prompt, replaces } = event.payload;
      tally.prompt += prompt - replaces.prompt;
      tally.completion += completion - replaces.completion;
      return undefined;
    }
    case "agent.tool_completed":
      tally.toolCalls++;
      tally.isMarked ||= event.payload.untrusted === true;
      return undefined;
    case "agent.tool_failed":
      tally.isMarked ||= event.payload.untrusted === true;
      return undefined;
    case "agent.interjected":
      tally.isMarked ||= event.payload.carries?.includes("untrusted") === true;
      return undefined;
    case "agent.subagent_waiting_for_merge":
      tally.outputHash = event.payload.output_hash;
      return outputProblem(event.payload);
    case "agent.subagent_closed":
      return sealProblem(event.payload, tally);
    default:
      return undefined;
  }
}

function outputProblem(
  payload: EventPayloads["agent.subagent_waiting_for_merge"],
): string | undefined {
  // An artifact holds the whole output; the event has only its beginning.
  if (payload.artifact || sha256(payload.output) === payload.output_hash) return undefined;
  return "Its output does not have the recorded hash.";
}

function sealProblem(
  { final_status: status, seal }: { readonly final_status: string; readonly seal: Seal },
  tally: Tally,
): string | undefined {
  const wrong: string[] = [];
  if (seal.usage.prompt !== tally.prompt || seal.usage.completion !== tally.completion) {
    wrong.push("usage");
  }
  if (seal.turns !== tally.turns) wrong.push("turns");
  if (seal.tool_calls !== tally.toolCalls) wrong.push("tool calls");
  if (seal.attempts !== tally.attempts) wrong.push("attempts");
  // A seal may be tainted for other reasons than these events, but never the other way round.
  if (tally.isMarked && seal.untrusted !== true) wrong.push("untrusted");
  if (status === "completed" && seal.output_hash !== tally.outputHash) wrong.push("output");
  return wrong.length === 0 ? undefined : `Its seal differs from the log: ${wrong.join(", ")}.`;
}

/** I15: what the store returns agrees with the log. */
export async function checkAnswers(store: Store, run: CheckedRun, fold: RunState): Promise<void> {
  let told: RunState | undefined;
  try {
    told = await store.readRun(run.id);
  } catch (error) {
    run.report("I15", `The store cannot read the run: ${String(error)}`);
    return;
  }
  // The run has events after the snapshot: there is nothing to compare.
  if (told !== undefined && told.lastRunSeq > fold.lastRunSeq) return;
  if (told?.head !== fold.head)
    run.report("I15", "The store returns a different history of the run.");
  for (const [id, delegation] of fold.delegations) {
    if (!isSameEnd(delegation, told?.delegations.get(id))) {
      run.report("I15", "The store returns another final state than the log.", {
        delegationId: id,
      });
    }
  }
}

function isSameEnd(left: Delegation, right: Delegation | undefined): boolean {
  if (left.status !== "closed" || right?.status !== "closed") return left.status === right?.status;
  return (
    left.finalStatus === right.finalStatus &&
    left.closeReason === right.closeReason &&
    left.output?.hash === right.output?.hash
  );
}
