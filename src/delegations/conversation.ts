import type { OpenAsk } from "../events/delegation.ts";
import type { EventPayloads, NewEvent } from "../events/event.ts";
import { askOf } from "../events/lifecycle.ts";
import { Evidence } from "../events/seal.ts";
import type { AskOutcome } from "../ports/delegator.ts";
import { Transcript } from "../sessions/transcript.ts";

/** Calls that have begun and have no outcome, by their ids. */
export type OpenCalls = ReadonlyMap<string, EventPayloads["agent.tool_started"]>;

export type MutableCalls = Map<string, EventPayloads["agent.tool_started"]>;

export function followCalls(calls: MutableCalls, { payload, type }: NewEvent): void {
  if (type === "agent.tool_started") calls.set(payload.call_id, payload);
  else if (
    type === "agent.tool_completed" ||
    type === "agent.tool_failed" ||
    type === "agent.tool_outcome_unknown"
  ) {
    calls.delete(payload.call_id);
  }
}

/**
 * What an agent was told, said and did, as the events of its delegation tell it. Live work and
 * recovery use the same fold, and nothing else writes to it.
 */
export class Conversation {
  readonly transcript: Transcript;
  readonly evidence = new Evidence();
  /** Why no call begins until the next request: a watcher's critical remark. */
  halt: string | null = null;
  /** The last question to a person was not answered in time. */
  isUnattended = false;
  /** Of a watcher: the last event that it was shown. */
  watchedUpTo = 0;
  /** How many of the models that it may run on were unavailable. */
  modelsGivenUp = 0;
  #openCalls: MutableCalls | null = null;
  #answers: Map<string, AskOutcome> | null = null;
  #openAsk: OpenAsk | null = null;

  constructor(opening: ConstructorParameters<typeof Transcript>[0]) {
    this.transcript = new Transcript(opening);
  }

  see(event: NewEvent): void {
    switch (event.type) {
      case "agent.tool_started":
        this.#openCalls ??= new Map();
        break;
      case "agent.asked":
        this.#openAsk = askOf(event.payload);
        break;
      case "agent.answered":
        this.#answered(event.payload);
        break;
      case "agent.budget_reserved":
        this.halt = null;
        break;
      case "agent.retried":
        if (event.payload.what === "model") this.modelsGivenUp++;
        break;
      case "agent.interjected":
        if (isCritical(event.payload)) this.halt = event.payload.message;
        this.watchedUpTo = Math.max(this.watchedUpTo, event.payload.up_to ?? 0);
        break;
      default:
    }
    if (this.#openCalls !== null) followCalls(this.#openCalls, event);
    this.transcript.apply(event);
    this.evidence.see(event);
  }

  /** Calls that have begun and have no outcome, by their ids. */
  get openCalls(): OpenCalls {
    return this.#openCalls ?? noCalls;
  }

  /** The answer to a question that was asked before, by its key: see `askKey`. */
  answerTo(key: string): AskOutcome | undefined {
    return this.#answers?.get(key);
  }

  #answered({ answer, ask_id: id, by }: EventPayloads["agent.answered"]): void {
    this.isUnattended = by === "expired";
    if (this.#openAsk?.id !== id) return;
    this.#answers ??= new Map();
    this.#answers.set(askKey(this.#openAsk), outcomeOf(answer, by));
    this.#openAsk = null;
  }
}

const noCalls: OpenCalls = new Map();

/** A watcher's critical remark stops calls until the agent has read it. */
function isCritical({ from, severity }: EventPayloads["agent.interjected"]): boolean {
  return severity === "critical" && from.startsWith("watcher:");
}

export function outcomeOf(
  answer: string | null,
  by: EventPayloads["agent.answered"]["by"],
): AskOutcome {
  return answer === null || by === "expired" ? { answered: false } : { answered: true, answer, by };
}

/**
 * One call can be asked about twice: whether it may be made, and what it asks itself. After a crash
 * the same call is repeated; another question under its id is another question, and one that is
 * only worded differently is not.
 */
export function askKey({
  about,
  callId,
  kind,
  question,
}: Pick<OpenAsk, "about" | "callId" | "kind" | "question">): string {
  // The model chooses the id: no id of one kind may read like one of the other.
  return JSON.stringify([kind ?? "", callId, about ?? question]);
}
