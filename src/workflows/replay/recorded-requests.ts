import type { EventPayloads, StoredEvent } from "../../events/event.ts";
import type { FinishReason, ModelReply } from "../../ports/model.ts";
import { isCut, isStop } from "./recorded-stops.ts";

/** What became of one request to a model. */
export type RecordedRequest = Outcome & {
  /** Bytes of its answer that had arrived, as its estimate counted them; 0: it was no estimate. */
  readonly received: number;
  /** Its reservation says how much of it was for the prompt: earlier versions did not record that. */
  readonly isBounded: boolean;
};

type Outcome =
  | {
      readonly kind: "answer";
      readonly seq: number;
      readonly reply: ModelReply;
      readonly cost: number;
    }
  | RecordedFault
  /** Somebody's middleware did not let the turn through, perhaps after it was answered. */
  | {
      readonly kind: "refused";
      readonly seq: number;
      readonly reply: ModelReply | null;
      readonly cost: number;
      readonly message: string;
    }
  /** Nothing came of it: the delegation was stopped meanwhile, or its process died. */
  | { readonly kind: "cut" };

export interface RecordedFault {
  readonly kind: "fault";
  readonly seq: number;
  readonly message: string;
  /** It was settled as an estimate: the provider's progress is unknown. */
  readonly isCharged: boolean;
  readonly partial: string | undefined;
  /** What the loop did about it. */
  readonly then: "retry" | "compact" | "next-model" | "next-attempt" | "fail";
  /** No token came in time. */
  readonly isStall: boolean;
  /** The how-manieth try of its turn it was, from 1. */
  readonly tries: number;
}

/** From the events of one delegation, by the number of the request. */
export function recordedRequests(
  events: readonly StoredEvent[],
): ReadonlyMap<number, RecordedRequest> {
  const found = new Map<number, RecordedRequest>();
  let isBounded = false;
  let turn: StoredEvent<"agent.model_turn"> | undefined;
  let tries = 0;
  for (const [index, event] of events.entries()) {
    if (event.type === "agent.budget_reserved") {
      turn = undefined;
      tries++;
      isBounded = event.payload.prompt !== undefined;
      found.set(event.payload.request, { kind: "cut", received: 0, isBounded });
    } else if (event.type === "agent.model_turn") {
      turn = event;
    } else if (event.type === "agent.budget_settled") {
      const next = events.slice(index + 1, index + 20).find(isConsequence);
      const outcome = turn ? answer(turn, event) : withoutTurn(event, next, tries);
      const { completion, estimated } = event.payload;
      const received = estimated ? completion : 0;
      found.set(event.payload.request, { ...outcome, received, isBounded });
      if (startsAfresh(outcome)) tries = 0;
    }
  }
  return found;
}

/** What others said in between is no consequence of anything. */
function isConsequence(event: StoredEvent): boolean {
  if (event.type !== "agent.interjected") return true;
  const { from } = event.payload;
  return from === "runtime" || from === "repair";
}

/** Whether the next request is the first try of its turn, or of its model. */
function startsAfresh(outcome: Outcome): boolean {
  return outcome.kind !== "fault" || (outcome.then !== "retry" && outcome.then !== "compact");
}

type Settled = StoredEvent<"agent.budget_settled">;

function answer(
  { payload: turn, seq }: StoredEvent<"agent.model_turn">,
  { payload: settled }: Settled,
): Outcome {
  const reply: ModelReply = {
    text: turn.text ?? "",
    calls: turn.calls ?? [],
    finish: turn.finish_reason as FinishReason,
    usage: usageIn(settled),
    served: turn.served,
    ...(turn.provider_data !== undefined && { providerData: turn.provider_data }),
    ...(turn.taken_from !== undefined && { takenFrom: turn.taken_from }),
  };
  return { kind: "answer", seq, reply, cost: settled.cost };
}

function usageIn(settled: EventPayloads["agent.budget_settled"]): ModelReply["usage"] {
  const { completion, estimated, prompt } = settled;
  return estimated ? null : { prompt, completion };
}

/** A request that left no turn: what followed says what had gone wrong. */
function withoutTurn(settled: Settled, next: StoredEvent | undefined, tries: number): Outcome {
  // An answer came, and was refused: only what was reported can overrun a reservation.
  if (settled.payload.overrun) return refused(settled, "It was refused.");
  switch (next?.type) {
    case "agent.compacted":
      return fault(settled, "The conversation is too long.", "compact", tries);
    case "agent.retried": {
      const { reason, what } = next.payload;
      if (what === "model") return fault(settled, complaintIn(reason), "next-model", tries);
      if (isCut(next.payload)) return { kind: "cut" };
      if (what === "attempt") {
        return fault(settled, reason.replace(/^\w+: /, ""), "next-attempt", tries);
      }
      return fault(settled, reason, "retry", tries);
    }
    case "agent.subagent_failed":
      return failed(settled, next, tries);
    default:
      return { kind: "cut" };
  }
}

function failed(
  settled: Settled,
  { payload }: StoredEvent<"agent.subagent_failed">,
  tries: number,
): Outcome {
  const { code, error } = payload;
  if (code === "policy_denied" && error.startsWith(refusedTurn)) {
    return refused(settled, error.slice(refusedTurn.length));
  }
  if (isStop(payload) || !ofModels.has(code)) return { kind: "cut" };
  const message = error.startsWith(tooLong) ? error.slice(tooLong.length) : error;
  return fault(settled, message, code === "no_progress" ? "compact" : "fail", tries);
}

function refused({ payload, seq }: Settled, message: string): Outcome {
  const { completion, cost, prompt } = payload;
  const usage = usageIn(payload);
  const reply: ModelReply = { text: "", calls: [], finish: "stop", usage, served: null };
  return { kind: "refused", seq, reply: prompt + completion > 0 ? reply : null, cost, message };
}

/** What a fault of a model can end a delegation with. */
const ofModels: ReadonlySet<string> = new Set(["provider_unavailable", "timeout", "no_progress"]);
const refusedTurn = "The turn was refused: ";
const tooLong = "The conversation does not fit the model's window: ";

function fault(
  { payload, seq }: Settled,
  message: string,
  then: RecordedFault["then"],
  tries: number,
): RecordedFault {
  return {
    kind: "fault",
    seq,
    message,
    isCharged: payload.prompt + payload.completion > 0,
    partial: payload.partial,
    then,
    isStall: message.startsWith("The model gave no "),
    tries,
  };
}

/** `one/model cannot be had (too many requests). another/model is asked in its place.` */
function complaintIn(reason: string): string {
  return /cannot be had \(([\s\S]*)\)\. \S+ is asked in its place\.$/.exec(reason)?.[1] ?? reason;
}
