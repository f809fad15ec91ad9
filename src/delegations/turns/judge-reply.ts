import { type Contract, modelName } from "../../contracts/contract.ts";
import type { Cause, Reminder } from "../../events/cause.ts";
import type { NewEvent } from "../../events/event.ts";
import { isSameModel } from "../../models/same-model.ts";
import type { Transcript } from "../../sessions/transcript.ts";
import { headOf } from "../../text.ts";

/** What follows from what the model just said: outcome is not acceptance. */
export type Verdict =
  | { readonly kind: "act" }
  | { readonly kind: "output"; readonly text: string }
  | { readonly kind: "say"; readonly reminder: Reminder }
  /** It does not keep its exit rule, however often it is told: a person has to say what to do. */
  | { readonly kind: "ask"; readonly question: string }
  | { readonly kind: "fail"; readonly cause: Cause; readonly retry: boolean };

const nudgeLimit = 3;
const repeatLimit = 5;
export const streakLimit = 5;

/** Judges the latest turn of a transcript, which may have been written before a crash. */
export function judgeReply(
  turn: NewEvent<"agent.model_turn">["payload"],
  contract: Contract,
  transcript: Transcript,
): Verdict {
  const calls = turn.calls?.length ?? 0;
  const text = turn.text ?? "";
  const last = turn.last === true;
  const pinned = [modelName(contract), ...(contract.model.fallbacks ?? [])];
  const isPinned = pinned.includes(turn.requested);
  if (!isPinned || (turn.served !== null && !isSameModel(turn.requested, turn.served))) {
    const served = turn.served ?? turn.requested;
    return fail({ code: "model_mismatch", pinned, served }, false);
  }
  // What a filter let through is a piece of an answer, however whole it looks.
  if (turn.finish_reason === "content-filter" && !last) {
    return fail({ code: "answer_filtered" }, true);
  }
  // The provider cut the answer: its last call may be half of one, so none is made.
  if (calls > 0 && turn.finish_reason === "length") return truncated(transcript);
  if (transcript.repeats >= repeatLimit) {
    return fail({ code: "same_call", times: transcript.repeats }, false);
  }
  if (calls > 0) return { kind: "act" };
  if (text === "") {
    return transcript.emptyTurns > 1
      ? fail({ code: "answer_empty" }, true)
      : { kind: "say", reminder: { code: "answer_empty" } };
  }
  if (turn.finish_reason === "length" && !last) return truncated(transcript);
  if (contract.exit.tools.length > 0 && !last) {
    return transcript.nudges >= nudgeLimit
      ? {
          kind: "ask",
          question: `It stopped ${nudgeLimit + 1} times without calling ${contract.exit.tools.join(" or ")}. What shall it do? It said last: ${headOf(text, 500)}`,
        }
      : { kind: "say", reminder: { code: "exit_required", tools: contract.exit.tools } };
  }
  return { kind: "output", text };
}

function truncated(transcript: Transcript): Verdict {
  return transcript.cutTurns > 1
    ? fail({ code: "answer_cut" }, true)
    : { kind: "say", reminder: { code: "answer_cut" } };
}

function fail(cause: Cause, retry: boolean): Verdict {
  return { kind: "fail", cause, retry };
}
