import type { Contract } from "../contracts/contract.ts";
import type { Cause, ChildName, Reminder } from "../events/cause.ts";
import type { Transcript } from "../sessions/transcript.ts";
import { type Ending, failure } from "./ends/ending.ts";
import { judgeOutput, judgeReply, streakLimit } from "./turns/judge-reply.ts";

/** What one loop carries out for a delegation; each is followed by events, and then by the next one. */
export type Command =
  | { readonly do: "ask-model" }
  /** The calls of the latest turn that have no result. */
  | { readonly do: "perform-calls" }
  | { readonly do: "say"; readonly from: string; readonly reminder: Reminder }
  /** A person has to say what to do. */
  | { readonly do: "ask-person"; readonly question: string }
  | { readonly do: "end"; readonly ending: Ending };

export interface Situation {
  readonly contract: Contract;
  readonly transcript: Transcript;
  /** Its children that have not closed. */
  readonly running: readonly ChildName[];
}

/** What follows from what the log says of a delegation's work. Pure: the same after a crash. */
export function next({ contract, running, transcript }: Situation): Command {
  const turn = transcript.unjudged;
  if (turn !== null) {
    const verdict = judgeReply(turn, contract, transcript);
    switch (verdict.kind) {
      case "act":
        break;
      case "say":
        return { do: "say", from: "runtime", reminder: verdict.reminder };
      case "ask":
        return { do: "ask-person", question: verdict.question };
      case "fail":
        return end(failure(verdict.cause, verdict.retry));
      case "output": {
        const handedIn = { text: verdict.text, byTool: false, isLast: turn.last === true };
        return handIn({ contract, running, transcript }, handedIn);
      }
      default:
        return verdict satisfies never;
    }
  }
  if (transcript.pending.length > 0) return { do: "perform-calls" };
  if (transcript.invalidStreak >= streakLimit) {
    return end(failure({ code: "invalid_streak", calls: streakLimit }, true));
  }
  if (transcript.deniedStreak >= streakLimit) {
    return end(failure({ code: "denied_streak", calls: streakLimit }));
  }
  if (transcript.exit === null) return { do: "ask-model" };
  const handedIn = { text: transcript.exit, byTool: true, isLast: transcript.withdrawn };
  return handIn({ contract, running, transcript }, handedIn);
}

interface HandedIn {
  readonly text: string;
  /** Through an exit tool, whose `outputs` are then what the schema is about. */
  readonly byTool: boolean;
  readonly isLast: boolean;
}

function handIn({ contract, running, transcript }: Situation, handedIn: HandedIn): Command {
  const { byTool, isLast, text } = handedIn;
  // Before its first final answer it is told once which of its children still run.
  if (running.length > 0 && !transcript.toldOfChildren && !transcript.withdrawn) {
    const reminder = { code: "children_running", children: running } as const;
    return { do: "say", from: "background", reminder };
  }
  const verdict = judgeOutput(text, contract, transcript, byTool);
  if (verdict.kind === "failure") return end(verdict);
  if (verdict.kind === "repair") return { do: "say", from: "repair", reminder: verdict.reminder };
  const reason = isLast ? "budget_exhausted" : null;
  return end({ kind: "output", text: verdict.text, truncated: isLast, reason });
}

function end(ending: Ending): Command {
  return { do: "end", ending };
}

/** What becomes of a delegation whose attempt has ended. */
export type AfterAttempt =
  | { readonly do: "close"; readonly ending: Ending }
  | { readonly do: "retry"; readonly cause: Cause };

/** `best`: what an agent whose budget was overrun can still hand in. */
export function afterAttempt(
  ending: Ending,
  { attempt, isOverrun }: { readonly attempt: number; readonly isOverrun: boolean },
  { execution }: Pick<Contract, "execution">,
  best: () => Ending,
): AfterAttempt {
  const judged = isOverrun ? overrunEnding(ending, best) : ending;
  const mayRetry = judged.kind === "failure" && judged.retry && attempt <= execution.max_retries;
  return mayRetry ? { do: "retry", cause: judged.cause } : { do: "close", ending: judged };
}

/** After an overrun it ends for that, with the best that it has, however its last turn went. */
function overrunEnding(ending: Ending, best: () => Ending): Ending {
  if (ending.kind === "output") return { ...ending, truncated: true, reason: "budget_exhausted" };
  // What another model than the contract's said is no result.
  return ending.cause.code === "model_mismatch" ? { ...ending, retry: false } : best();
}
