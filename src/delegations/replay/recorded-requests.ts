import type { Cause } from "../../events/cause.ts";
import type { EventPayloads, StoredEvent } from "../../events/event.ts";
import type { FinishReason, ModelReply } from "../../ports/model.ts";
import { promptOfLeast } from "../budget.ts";
import type { RecordedKeeps } from "../engine-parts.ts";
import { isCut } from "./recorded-stops.ts";

/** One recorded request to a model and its outcome. */
export type RecordedRequest = Outcome & {
  /** Bytes of its answer that had arrived, by its estimate; 0: its usage was reported. */
  readonly received: number;
  /** The reservation names the prompt's part. Earlier versions did not record it. */
  readonly isBounded: boolean;
  /** The prompt's part of its reservation, or of the reservation that did not fit the budget. */
  readonly promptBound: number | undefined;
  readonly keeps: RecordedKeeps;
  /** How its conversation was shortened before it, in the same attempt. */
  readonly shortenings: readonly EventPayloads["agent.compacted"][];
  readonly isSent: boolean;
  /** The conversation was too long, and the delegation failed for it. */
  readonly hasFailed: boolean;
};

type Outcome =
  | {
      readonly kind: "answer";
      readonly seq: number;
      readonly reply: ModelReply;
      readonly cost: number;
    }
  | RecordedFault
  /** Middleware refused the turn, perhaps after the model had answered. */
  | {
      readonly kind: "refused";
      readonly seq: number;
      readonly reply: ModelReply | null;
      readonly cost: number;
      readonly message: string;
    }
  /** No outcome: the delegation was stopped, its process died, or the request was never sent. */
  | { readonly kind: "cut" };

export interface RecordedFault {
  readonly kind: "fault";
  readonly seq: number;
  readonly cause: ModelCause;
  /** Tokens were settled for it, as an estimate. */
  readonly isCharged: boolean;
  readonly partial: string | undefined;
  /** The engine's reaction. */
  readonly then: "retry" | "compact" | "next-model" | "next-attempt" | "fail";
  /** The number of the try within its turn, from 1. */
  readonly tries: number;
}

/** From the events of one delegation, by the number of the request. */
export function recordedRequests(
  events: readonly StoredEvent[],
  maxOutput: number,
): ReadonlyMap<number, RecordedRequest> {
  const found = new Map<number, RecordedRequest>();
  let request = 0;
  let bound: number | undefined;
  let shortenings: readonly EventPayloads["agent.compacted"][] = [];
  let turn: StoredEvent<"agent.model_turn"> | undefined;
  let tries = 0;
  for (const [index, event] of events.entries()) {
    if (event.type === "agent.budget_reserved") {
      turn = undefined;
      tries++;
      request = event.payload.request;
      bound = event.payload.prompt;
      const isBounded = bound !== undefined;
      const keeps = { reserved: event.payload.keeps };
      const sent = { ...unsent, isBounded, promptBound: bound, keeps, shortenings, isSent: true };
      found.set(request, sent);
    } else if (event.type === "agent.tool_started") {
      const { call_id: id, keeps } = event.payload;
      const own = found.get(request);
      if (keeps === undefined || own === undefined) continue;
      const calls = new Map([...(own.keeps.calls ?? []), [id, keeps]]);
      found.set(request, { ...own, keeps: { ...own.keeps, calls } });
    } else if (event.type === "agent.subagent_attempt") {
      shortenings = [];
    } else if (event.type === "agent.compacted") {
      shortenings = [...shortenings, event.payload];
      found.set(request + 1, { ...unsent, shortenings });
    } else if (event.type === "agent.model_turn") {
      turn = event;
    } else if (event.type === "agent.subagent_failed") {
      const { cause } = event.payload;
      if (cause.code !== "tokens_too_small") continue;
      const promptBound = promptOfLeast(cause.needed, maxOutput);
      found.set(request + 1, { ...unsent, promptBound, shortenings });
    } else if (event.type === "agent.budget_settled") {
      const next = events.slice(index + 1, index + 20).find(isConsequence);
      const outcome = turn ? answer(turn, event) : withoutTurn(event, next, tries);
      const { completion, estimated } = event.payload;
      const received = estimated ? completion : 0;
      const { keeps, shortenings: before } = found.get(event.payload.request) ?? unsent;
      const hasFailed = "then" in outcome && outcome.then === "compact" && isFailure(next);
      found.set(event.payload.request, {
        ...outcome,
        ...{
          received,
          isBounded: bound !== undefined,
          promptBound: bound,
          keeps,
          shortenings: before,
          isSent: true,
          hasFailed,
        },
      });
      if (startsAfresh(outcome)) tries = 0;
    }
  }
  return found;
}

const unsent: RecordedRequest = {
  kind: "cut",
  received: 0,
  isBounded: false,
  promptBound: undefined,
  keeps: {},
  shortenings: [],
  isSent: false,
  hasFailed: false,
};

function isFailure(event: StoredEvent | undefined): boolean {
  return event?.type === "agent.subagent_failed";
}

/** Whether an event can be the consequence of a request. Interjections of others are not. */
function isConsequence(event: StoredEvent): boolean {
  if (event.type !== "agent.interjected") return true;
  const { from } = event.payload;
  return from === "runtime" || from === "repair";
}

/** Whether the next request is the first try of a turn or of a model. */
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

/** A request without a turn. The event after it tells what went wrong. */
function withoutTurn(settled: Settled, next: StoredEvent | undefined, tries: number): Outcome {
  // Only a reported usage can overrun a reservation: the model answered, and the turn was refused.
  if (settled.payload.overrun) return refused(settled, "It was refused.");
  switch (next?.type) {
    case "agent.compacted":
      return fault(settled, tooLong, "compact", tries);
    case "agent.retried": {
      const { cause, what } = next.payload;
      if (isCut(next.payload) || !isOfModel(cause)) return { kind: "cut" };
      return fault(settled, cause, consequences[what], tries);
    }
    case "agent.subagent_waiting_for_merge":
      // The conversation could not be shortened further, so its best text was handed in.
      return next.payload.reason === "no_progress"
        ? fault(settled, tooLong, "compact", tries)
        : { kind: "cut" };
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
  const { cause } = payload;
  if (cause.code === "turn_refused") return refused(settled, cause.text);
  if (!isOfModel(cause)) return { kind: "cut" };
  return fault(settled, cause, cause.code === "window_exceeded" ? "compact" : "fail", tries);
}

function refused({ payload, seq }: Settled, message: string): Outcome {
  const { completion, cost, prompt } = payload;
  const usage = usageIn(payload);
  const reply: ModelReply = { text: "", calls: [], finish: "stop", usage, served: null };
  return { kind: "refused", seq, reply: prompt + completion > 0 ? reply : null, cost, message };
}

/** The causes that a fault of a model can have. */
export type ModelCause = Extract<
  Cause,
  { code: "model_unavailable" | "model_stalled" | "window_exceeded" }
>;

function isOfModel(cause: Cause): cause is ModelCause {
  return ofModels.has(cause.code);
}

const ofModels: ReadonlySet<Cause["code"]> = new Set([
  ...(["model_unavailable", "model_stalled", "window_exceeded"] as const),
]);

const consequences = {
  model: "next-model",
  attempt: "next-attempt",
  request: "retry",
} as const;

const tooLong: ModelCause = { code: "window_exceeded", text: "The conversation is too long." };

function fault(
  { payload, seq }: Settled,
  cause: ModelCause,
  then: RecordedFault["then"],
  tries: number,
): RecordedFault {
  return {
    kind: "fault",
    seq,
    cause,
    isCharged: payload.prompt + payload.completion > 0,
    partial: payload.partial,
    then,
    tries,
  };
}
