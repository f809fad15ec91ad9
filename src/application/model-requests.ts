import { type Contract, modelName, openingOf } from "../contracts/contract.ts";
import { openingAfter } from "../delegations/recovery/hydrate.ts";
import type { RecordedCall, StoredEvent } from "../events/event.ts";
import type { Message } from "../ports/model.ts";
import type { Store } from "../ports/store.ts";
import { Transcript } from "../sessions/transcript.ts";

/** One request to a model, as the log has it. */
export interface LoggedRequest {
  /** The number of the request, from 1, over all attempts of the delegation. */
  readonly request: number;
  readonly attempt: number;
  readonly at: number;
  /** Null: under way, or its process died. */
  readonly endedAt: number | null;
  readonly outcome: "open" | "answered" | "failed";
  /** `provider/model`. */
  readonly model: string;
  readonly served: string | null;
  readonly finishReason: string | null;
  readonly prompt: number;
  readonly completion: number;
  readonly cost: number;
  /** The provider did not report the tokens: they are upper bounds. */
  readonly estimated: boolean;
  /** The tokens that were reserved before it was sent. */
  readonly reserved: number;
  /** The messages of its prompt, without the system prompt. */
  readonly messages: number;
  /** The bytes of the messages in UTF-8. */
  readonly bytes: number;
  readonly calls: readonly RecordedCall[];
  readonly text: string;
  /** The text that was received before the request failed. */
  readonly partial: string | null;
  /** Why a failed request is repeated, and which model is tried next. */
  readonly retry: {
    readonly reason: string;
    readonly delayMs: number;
    readonly nextModel: string | null;
  } | null;
}

export interface RequestPrompt {
  /** Null: the database has lost it. */
  readonly system: string | null;
  readonly messages: readonly Message[];
}

/** All requests of a delegation in order, and the prompt of one of them, folded from its log. */
export async function modelRequests(
  store: Store,
  id: string,
  promptOf?: number,
): Promise<{ readonly requests: readonly LoggedRequest[]; readonly prompt?: RequestPrompt }> {
  const contract = await store.readContract(id);
  const fold = new RequestFold(contract);
  let prompt: RequestPrompt | undefined;
  for await (const event of store.readEvents({ delegationId: id })) {
    if (event.type === "agent.subagent_created") {
      const { resumed_at: at, resumed_from: from } = event.payload;
      fold.begin(
        from === undefined
          ? openingOf(contract)
          : await openingAfter({ store }, from, contract.step.description, at),
      );
    }
    fold.apply(event);
    if (event.type === "agent.budget_reserved" && event.payload.request === promptOf) {
      // Copied now: later events shorten messages in place.
      const messages = fold.transcript.messages.map((message) => ({ ...message }));
      prompt = { system: (await store.readText(contract.profile.prompt)) ?? null, messages };
    }
  }
  return { requests: [...fold.requests.values()], ...(prompt && { prompt }) };
}

class RequestFold {
  readonly requests = new Map<number, LoggedRequest>();
  transcript: Transcript;
  #model: string;
  #attempt = 1;
  #last = 0;

  constructor(contract: Contract) {
    this.#model = modelName(contract);
    this.transcript = new Transcript(openingOf(contract));
  }

  begin(opening: string | readonly Message[]): void {
    this.transcript = new Transcript(opening);
  }

  apply(event: StoredEvent): void {
    switch (event.type) {
      case "agent.subagent_attempt":
        this.#attempt = event.payload.attempt;
        break;
      case "agent.budget_reserved":
        this.#begin(event);
        break;
      case "agent.model_turn": {
        const { calls = [], finish_reason: finishReason, served, text = "" } = event.payload;
        const { requested: model } = event.payload;
        const request = event.payload.request ?? this.#last;
        this.#change(request, { outcome: "answered", model, served, finishReason, calls, text });
        break;
      }
      case "agent.budget_settled": {
        const { completion, cost, estimated = false, partial = null, prompt } = event.payload;
        const known = this.requests.get(event.payload.request);
        const outcome = known?.outcome === "answered" ? "answered" : "failed";
        this.#change(event.payload.request, {
          ...{ endedAt: event.at, outcome, prompt, completion, cost, estimated, partial },
        });
        break;
      }
      case "agent.budget_corrected": {
        const { completion, cost, prompt, request } = event.payload;
        this.#change(request, { prompt, completion, cost, estimated: false });
        break;
      }
      case "agent.retried": {
        const { delay_ms: delayMs, next, reason, what } = event.payload;
        if (what === "model" && next !== undefined) this.#model = next;
        this.#change(this.#last, { retry: { reason, delayMs, nextModel: next ?? null } });
        break;
      }
      default:
    }
    this.transcript.apply(event);
  }

  #begin({ at, payload }: StoredEvent<"agent.budget_reserved">): void {
    this.#last = payload.request;
    this.requests.set(payload.request, {
      request: payload.request,
      attempt: this.#attempt,
      at,
      endedAt: null,
      outcome: "open",
      model: payload.model ?? this.#model,
      served: null,
      finishReason: null,
      ...{ prompt: 0, completion: 0, cost: 0, estimated: false, reserved: payload.tokens },
      messages: this.transcript.messages.length,
      bytes: this.transcript.bytes,
      ...{ calls: [], text: "", partial: null, retry: null },
    });
  }

  #change(request: number, change: Partial<LoggedRequest>): void {
    const known = this.requests.get(request);
    if (known !== undefined) this.requests.set(request, { ...known, ...change });
  }
}
