import type { TokenPrice } from "../../contracts/token-price.ts";
import { type Cause, describeCause } from "../../events/cause.ts";
import type { TokenUsage } from "../../events/event.ts";
import { worstCaseOf } from "../../events/spent.ts";
import { billionths, inDollars } from "../../ports/dollars.ts";
import { messageOf } from "../../ports/message-of.ts";
import {
  type Model,
  ModelFault,
  type ModelPart,
  type ModelReply,
  type ModelRequest,
  type ModelUsage,
  type ToolDescription,
} from "../../ports/model.ts";
import { headOf } from "../../text.ts";
import { type Amount, type Held, type Used, worstCase } from "../budget.ts";
import { Stopped } from "../ends/ending.ts";
import {
  event,
  heldBy,
  type LiveDelegation,
  modelOf,
  openRequestsOf,
  priceOf,
  requestsOf,
} from "../live-delegation.ts";
import { noteLateResult } from "../live-run.ts";
import type { DelegationContext, Middleware } from "../middleware.ts";

/** What one request may use, as planned and reserved. */
export interface TurnRequest {
  readonly maxOutput: number;
  readonly tools: readonly ToolDescription[];
  readonly try: number;
}

/**
 * Sends one request and watches it: no first token in time, or none for too long in the middle,
 * ends it like a cut connection. A reply that is not complete is not returned.
 */
export function requestModel(live: LiveDelegation, turn: TurnRequest): Promise<ModelReply> {
  const watch = new StreamWatch(live);
  const request = new WatchedRequest(live, turn, watch);
  const { turn: around } = live.run.parts.middleware;
  // Not an async function: a thousand requests may wait at once, and each frame costs memory.
  return around === undefined ? watch.follow(request) : requestThrough(around, watch, request);
}

/** Requests through the user's middleware, which can refuse the turn before or after its answer. */
async function requestThrough(
  around: NonNullable<Middleware["turn"]>,
  watch: StreamWatch,
  request: WatchedRequest,
): Promise<ModelReply> {
  try {
    return await around({ ...watch.about, request }, () => watch.follow(request));
  } catch (error) {
    throw asRefused(error, watch.reply);
  } finally {
    watch.end();
  }
}

function asRefused(error: unknown, reply: ModelReply | null): Error {
  const isKnown =
    error instanceof ModelFault || error instanceof Stopped || error instanceof RefusedTurn;
  return isKnown ? error : new RefusedTurn(error, reply);
}

/** The turn was not let through: by middleware, before or after the model answered, or by us. */
export class RefusedTurn extends Error {
  readonly reply: ModelReply | null;

  constructor(cause: unknown, reply: ModelReply | null) {
    super(messageOf(cause), { cause });
    this.name = "RefusedTurn";
    this.reply = reply;
  }
}

/** What a model is asked; made once a request, so it is a class and not a literal with a getter. */
class WatchedRequest implements ModelRequest {
  readonly model: string;
  readonly system: string;
  readonly messages: ModelRequest["messages"];
  readonly tools: readonly ToolDescription[];
  readonly maxOutputTokens: number;
  readonly temperature: number | null;
  readonly topP: number | null;
  readonly effort: ModelRequest["effort"];
  readonly caller: ModelRequest["caller"];
  readonly #watch: StreamWatch;

  constructor(live: LiveDelegation, turn: TurnRequest, watch: StreamWatch) {
    const { contract, said } = live;
    this.model = modelOf(live);
    this.system = live.system;
    this.messages = said.transcript.messages;
    this.tools = turn.tools;
    this.maxOutputTokens = turn.maxOutput;
    this.temperature = contract.model.temperature;
    this.topP = contract.model.top_p ?? null;
    this.effort = contract.model.effort ?? null;
    this.caller = {
      delegationId: live.id,
      profile: contract.profile.id,
      depth: live.contract.parent.depth,
      attempt: live.state.attempt,
      turn: said.transcript.turns + 1,
      try: turn.try,
      task: contract.step.description,
    };
    this.#watch = watch;
  }

  /** Scripted models never read it: the controller is created when it is read. */
  get signal(): AbortSignal {
    return this.#watch.signal;
  }
}

/** The deadlines of one request: the agent's timer asks it when something last arrived. */
class StreamWatch {
  reply: ModelReply | null = null;
  readonly #live: LiveDelegation;
  readonly #began: number;
  readonly #request: number;
  #lastPart = 0;
  #controller: AbortController | undefined;
  #reject: ((error: unknown) => void) | undefined;
  #reason: unknown;

  constructor(live: LiveDelegation) {
    this.#live = live;
    this.#began = live.run.parts.clock.monotonic();
    this.#request = requestsOf(live);
    live.process.time.watched = this;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#reason !== undefined) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  /** The delegation that makes the request, as middleware sees it. */
  get about(): DelegationContext {
    const { contract, id: delegationId, parent, run } = this.#live;
    const { depth } = contract.parent;
    return { runId: run.id, delegationId, parentId: parent?.id ?? null, depth, contract };
  }

  /** Asks the model. Whatever is wrong with the model or the turn rejects; nothing is thrown. */
  follow(request: ModelRequest): Promise<ModelReply> {
    const { run, work } = this.#live;
    return new Promise((resolve, reject) => {
      this.#reject = reject;
      if (work.interruption !== null) {
        this.abort(work.interruption);
        return;
      }
      let model: Model;
      try {
        model = run.parts.models.resolve(request.model);
      } catch (error) {
        this.#fail(asRefused(error, null));
        return;
      }
      try {
        model(request, this.#onPart).then(
          (reply) => {
            this.#hear(reply);
            resolve(reply);
          },
          (error: unknown) => this.#fail(asFault(error)),
        );
      } catch (error) {
        this.#fail(asFault(error));
      }
    });
  }

  #hear(reply: ModelReply): void {
    this.reply = reply;
    this.end();
    if (this.#reason === undefined) return;
    noteLateResult(this.#live, { code: "late_answer" });
    this.#correct(reply);
  }

  #fail(error: unknown): void {
    this.end();
    this.#reject?.(error);
  }

  #correct({ usage }: ModelReply): void {
    try {
      correctRequest(this.#live, this.#request, usage);
    } catch {
      // The log accepts no event now. The agent finds that out by itself, and the estimate stays.
    }
  }

  /** A request that was given up may end later than the next one begins. */
  end(): void {
    const { time } = this.#live.process;
    if (time.watched === this) time.watched = null;
  }

  /** Milliseconds that it may still be silent; ends the request when they are over. */
  check(): number {
    const { first_token: firstToken, stall } = this.#live.contract.deadlines;
    const now = this.#live.run.parts.clock.monotonic();
    const limit = this.#lastPart === 0 ? firstToken : stall;
    const left = (this.#lastPart === 0 ? this.#began : this.#lastPart) + limit - now;
    if (left > 0) return Math.min(left, stall);
    const token = this.#lastPart === 0 ? "first" : "next";
    this.abort(new StalledRequest({ code: "model_stalled", token, ms: limit }));
    return Math.min(firstToken, stall);
  }

  readonly #onPart = (part: ModelPart): void => {
    const { clock, onDelta } = this.#live.run.parts;
    this.#lastPart = clock.monotonic();
    this.#live.process.lastActivity = this.#lastPart;
    const { request } = this.#live.process;
    if (this.#reason === undefined && request.received !== null) {
      request.received += bytesOf(part);
    }
    if (part.type === "text") onDelta?.(this.#live.id, part.text);
  };

  abort(reason: unknown): void {
    this.#reason = reason;
    this.#controller?.abort(reason);
    this.#fail(reason);
  }
}

/** The bound on the tokens of an output: no text has more tokens than bytes. */
function bytesOf(part: ModelPart): number {
  return part.type === "activity" ? (part.bytes ?? 0) : Buffer.byteLength(part.text);
}

/** A model of the user's own may throw anything: that is a failure of the model, not a refusal. */
function asFault(error: unknown): unknown {
  if (error instanceof ModelFault || error instanceof Stopped) return error;
  return new ModelFault("rejected", messageOf(error), { cause: error });
}

/** A silence counts as a cut connection; if it does not pass, the delegation has timed out. */
export class StalledRequest extends ModelFault {
  override readonly cause: Cause;

  constructor(cause: Extract<Cause, { code: "model_stalled" }>) {
    super("connection", describeCause(cause));
    this.name = "StalledRequest";
    this.cause = cause;
  }
}

export const unused: Used = Object.freeze({ prompt: 0, completion: 0, cost: 0 });

type Settlement = ReturnType<typeof event<"agent.budget_settled">>;

/** Settles what is reserved by what the request has used: the one of that number, or the latest. */
export function settled(live: LiveDelegation, used: Used, request = requestsOf(live)): Settlement {
  const { completion, cost, isEstimated = false, prompt } = used;
  const reserved = heldBy(live, request);
  const overrun = isOverrun(reserved, used);
  // Only the latest request of our own can be corrected by a late answer.
  if (isMarked(reserved, used) && live.process.cuts === null) {
    const underWay = live.process.request;
    underWay.estimates ??= new Map();
    underWay.estimates.set(request, { used, reserved, model: modelOf(live) });
  }
  return event(live, "agent.budget_settled", {
    request,
    reserved: reserved.tokens,
    prompt,
    completion,
    cost,
    ...(isEstimated ? { estimated: true } : {}),
    ...(overrun ? { overrun: true } : {}),
  });
}

/**
 * The provider reported more than its reservation: more than the request's own limits made
 * possible. A reservation of an earlier version, which does not say its prompt's bound, has no
 * overruns: it is settled as it was then.
 */
export function isOverrun(reserved: Held, used: Used): boolean {
  if (reserved.prompt === undefined || used.isEstimated) return false;
  const { cost, tokens } = amountOf(used);
  return tokens > reserved.tokens || (reserved.cost > 0 && cost > reserved.cost);
}

function amountOf({ completion, cost, prompt }: Used): Amount {
  return { tokens: prompt + completion, cost: billionths(cost) };
}

function isMarked({ prompt }: Held, { isEstimated = false }: Used): boolean {
  return isEstimated && prompt !== undefined;
}

/** The usage of one turn as its event says it. */
export function usageOf(live: LiveDelegation, used: Used, request = requestsOf(live)): TokenUsage {
  const { completion, cost, prompt } = used;
  const isEstimate = isMarked(heldBy(live, request), used);
  return { prompt, completion, cost, ...(isEstimate && { estimated: true }) };
}

/** The requests that are under way: they were cut, and their usage will not be reported. */
export function settledIfOpen(live: LiveDelegation): readonly Settlement[] {
  return openRequestsOf(live).map(({ request }) => {
    return settled(live, live.process.cuts?.get(request)?.() ?? cutUsage(live, request), request);
  });
}

export function settledFault(live: LiveDelegation, fault: ModelFault): Settlement {
  const settlement = settled(live, isFree(fault) ? unused : cutUsage(live));
  const { partial } = fault;
  if (!partial) return settlement;
  // What had arrived is kept as data; nothing of it is acted upon.
  return { ...settlement, payload: { ...settlement.payload, partial: headOf(partial, 4000) } };
}

/** Faults that a provider does not charge for; any other request is estimated. */
function isFree({ cause, kind, partial }: ModelFault): boolean {
  const code = (cause as { code?: unknown } | undefined)?.code;
  // A provider that had begun to answer charges for the request.
  return neverConnected.has(code) || (refusals.has(kind) && !partial);
}

const refusals: ReadonlySet<string> = new Set([
  "rate-limited",
  "spend-cap",
  "overloaded",
  "context-overflow",
  "unauthorized",
  "unknown-model",
  "wrong-address",
  "unreachable",
  "rejected",
]);

const neverConnected: ReadonlySet<unknown> = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN"]);

/**
 * The estimate of a request that was cut: the bound of its prompt and the output that had arrived,
 * a token for each byte. Of a request that another process had sent it is unknown what had arrived:
 * then it is the whole reservation.
 */
function cutUsage(live: LiveDelegation, request = requestsOf(live)): Used {
  const reservation = heldBy(live, request);
  const { received } = live.process.request;
  const { prompt, tokens } = reservation;
  if (prompt === undefined || received === null) {
    const worst = worstCaseOf({ ...reservation, cost: inDollars(reservation.cost) });
    return { ...worst, isEstimated: true };
  }
  const completion = Math.min(received, tokens - prompt);
  return { prompt, completion, cost: boundedCost(live, prompt, completion), isEstimated: true };
}

function boundedCost(live: LiveDelegation, prompt: number, answer: number) {
  const { contract, run } = live;
  if (contract.model.prices === undefined) {
    return run.parts.models.cost(modelOf(live), { prompt, completion: answer });
  }
  return inDollars(worstCase({ price: priceOf(live), prompt }, answer).cost);
}

/** What an answer has used: what was reported, or an estimate where that is no count. */
export function usedFor(live: LiveDelegation, reply: ModelReply): Used {
  const reported = counted(reply.usage);
  // An answer of an earlier run is not sent to a provider now. Its tokens count, since they say how long
  // the conversation is, but they cannot overrun a request that was not made.
  if (reply.takenFrom !== undefined) return takenUsage(live, reply, reported);
  if (reported === null) {
    const { prompt, completion } = estimate(live, reply);
    // The provider may have billed reasoning that it did not send.
    const cost =
      live.contract.model.prices === undefined
        ? live.run.parts.models.cost(modelOf(live), { prompt, completion })
        : inDollars(heldBy(live).cost);
    return { prompt, completion, cost, isEstimated: true };
  }
  const { completion, prompt } = reported;
  return { prompt, completion, cost: costOf(live, modelOf(live), reported) };
}

function takenUsage(live: LiveDelegation, reply: ModelReply, reported: ModelUsage | null): Used {
  const { prompt: bound, tokens } = heldBy(live);
  const fits =
    reported !== null && (bound === undefined || reported.prompt + reported.completion <= tokens);
  const { completion, prompt } = fits ? reported : estimate(live, reply);
  return { prompt, completion, cost: 0, ...(!fits && { isEstimated: true }) };
}

/** Null: negative, fractional or too large to add up. Such a count would give tokens back. */
export function counted(usage: ModelUsage | null): ModelUsage | null {
  if (usage === null) return null;
  const { prompt, completion, cached = 0, cacheWrite = 0 } = usage;
  const counts = [prompt, completion, cached, cacheWrite, prompt + completion];
  const isCount = counts.every((count) => Number.isSafeInteger(count) && count >= 0);
  return isCount && cached + cacheWrite <= prompt ? usage : null;
}

/** No prompt is more than its bound, no answer than its bytes, those of its thoughts included. */
function estimate(live: LiveDelegation, reply: ModelReply): ModelUsage {
  const { promptBound, received } = live.process.request;
  const bytes = Buffer.byteLength(reply.text) + Buffer.byteLength(JSON.stringify(reply.calls));
  const completion = Math.min(Math.max(bytes, received ?? 0), heldBy(live).tokens - promptBound);
  return { prompt: promptBound, completion };
}

/**
 * In dollars, by the prices of the contract where it has them: the list of another worker, or of
 * tomorrow, is not what was agreed.
 */
function costOf({ contract, run }: LiveDelegation, model: string, usage: ModelUsage): number {
  const { prices } = contract.model;
  if (prices === undefined) return run.parts.models.cost(model, usage);
  return run.parts.models.cost(model, usage, prices[model] ?? free);
}

const free: TokenPrice = Object.freeze({ input: 0, output: 0 });

/**
 * The provider reported after all what a request has used that was cut and settled as an estimate.
 * The difference is settled, unless the delegation has ended or rests, or the difference is within
 * the request's limits and no longer free: others hold it by now, and the estimate stays.
 */
export function correctRequest(
  live: LiveDelegation,
  request: number,
  usage: ModelUsage | null,
): void {
  const estimate = live.process.request.estimates?.get(request);
  const reported = counted(usage);
  if (estimate === undefined || reported === null) return;
  const isOpen = live.state.status === "running" || live.state.status === "waiting_for_merge";
  if (!isOpen || live.process.end.isEnding || live.work.isParked) return;
  const { model, reserved, used: before } = estimate;
  const { completion, prompt } = reported;
  const used: Used = { prompt, completion, cost: costOf(live, model, reported) };
  const overrun = isOverrun(reserved, used);
  const more = {
    tokens: prompt + completion - before.prompt - before.completion,
    cost: billionths(used.cost) - billionths(before.cost),
  };
  const { certain } = live.budget;
  const isCovered =
    more.tokens <= Math.max(0, certain.tokens) && more.cost <= Math.max(0, certain.cost);
  if (!overrun && !isCovered) return;
  live.record(
    event(live, "agent.budget_corrected", {
      request,
      prompt,
      completion,
      cost: used.cost,
      replaces: { prompt: before.prompt, completion: before.completion, cost: before.cost },
      ...(overrun && { overrun: true }),
    }),
  );
  live.process.request.estimates?.delete(request);
}
