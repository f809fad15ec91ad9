import { type Contract, modelName } from "../../contracts/contract.ts";
import type { CloseReason } from "../../events/close-reason.ts";
import type { NewEvent } from "../../events/event.ts";
import { isSameModel } from "../../models/same-model.ts";
import type { Transcript } from "../../sessions/transcript.ts";

/** What follows from what the model just said. Pure: outcome is not acceptance. */
export type Verdict =
  | { readonly kind: "act" }
  | { readonly kind: "output"; readonly text: string }
  | { readonly kind: "say"; readonly message: string }
  /** It does not keep its exit rule, however often it is told: a person has to say what to do. */
  | { readonly kind: "ask"; readonly question: string }
  | {
      readonly kind: "fail";
      readonly code: CloseReason;
      readonly error: string;
      readonly retry: boolean;
    };

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
    return fail(
      "model_mismatch",
      `The contract pins ${pinned.join(", then ")}, but ${turn.served ?? turn.requested} answered.`,
      false,
    );
  }
  // What a filter let through is a piece of an answer, however whole it looks.
  if (turn.finish_reason === "content-filter" && !last) {
    return fail("truncated", "The provider's filter ended the answer.", true);
  }
  // The provider cut the answer: its last call may be half of one, so none is made.
  if (calls > 0 && turn.finish_reason === "length") return truncated(transcript);
  if (transcript.repeats >= repeatLimit) {
    return fail(
      "no_progress",
      `It made the same call ${transcript.repeats} times in a row.`,
      false,
    );
  }
  if (calls > 0) return { kind: "act" };
  if (text === "") {
    return transcript.emptyTurns > 1
      ? fail("empty_output", "The model answered with nothing, twice.", true)
      : { kind: "say", message: "Your answer was empty. Continue, or give your result." };
  }
  if (turn.finish_reason === "length" && !last) return truncated(transcript);
  if (contract.exit.tools.length > 0 && !last) {
    return transcript.nudges >= nudgeLimit
      ? {
          kind: "ask",
          question: `It stopped ${nudgeLimit + 1} times without calling ${contract.exit.tools.join(" or ")}. What shall it do? It said last: ${text.slice(0, 500)}`,
        }
      : {
          kind: "say",
          message: `You may stop only by calling ${contract.exit.tools.join(" or ")}. Go on working, or call it.`,
        };
  }
  return { kind: "output", text };
}

function truncated(transcript: Transcript): Verdict {
  return transcript.cutTurns > 1
    ? fail("truncated", "The provider cut the answer at its length limit, twice.", true)
    : { kind: "say", message: "Your answer was cut at the length limit. Give it again, shorter." };
}

function fail(code: CloseReason, error: string, retry: boolean): Verdict {
  return { kind: "fail", code, error, retry };
}
