import type { Cause } from "../../events/cause.ts";
import type { CloseReason } from "../../events/close-reason.ts";
import { inDollars } from "../../ports/dollars.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import { ModelFault, type ModelReply, type ToolCall } from "../../ports/model.ts";
import { type Amount, leastForAnswer, planTurn, type TurnPlan } from "../budget.ts";
import { type Ending, type FailedEnding, failure, retryable, Stopped } from "../ends/ending.ts";
import type { EngineParts } from "../engine-parts.ts";
import {
  event,
  heldBy,
  type LiveDelegation,
  modelOf,
  priceOf,
  requestsOf,
} from "../live-delegation.ts";
import type { AdmissionGate } from "./admission-gate.ts";
import { admitRequest } from "./admit-request.ts";
import {
  boundPrompt,
  canCount,
  countPrompt,
  exitTools,
  hasServers,
  keepsAfter,
  keepToWindow,
  offeredTools,
  openServers,
  shortenTo,
} from "./prompt.ts";
import {
  isOverrun,
  RefusedTurn,
  requestModel,
  StalledRequest,
  settled,
  settledFault,
  unused,
  usageOf,
  usedFor,
} from "./request-model.ts";

/**
 * One model turn: plan what it may cost, reserve that, send, settle, record. Passing faults are
 * waited out here; null means that the turn is in the transcript.
 */
export async function takeTurn(live: LiveDelegation): Promise<Ending | null> {
  const { parts } = live.run;
  for (let tries = 1; ; tries++) {
    const withoutPrice = requirePrice(live);
    if (withoutPrice !== null) return withoutPrice;
    if (live.process.tools.ofServers === null && hasServers(live)) await openServers(live);
    const window = keepToWindow(live);
    if (window?.isTooSmall) return tooLong(live, "the prompt is longer than the window.");
    boundPrompt(live);
    const { admission } = parts;
    const plan = admission?.mayLimit
      ? await reserveAdmitted(live, admission)
      : (reserveNow(live) ?? (await planCounted(live, reservePlanned)));
    if (plan.kind === "failure") return plan;
    if (plan.kind === "exhausted") {
      // Results that turned out longer than what was kept back for them enter it shortened.
      const { bytes } = live.said.transcript;
      if (
        live.process.children.length > 0 &&
        canCount(parts, modelOf(live)) &&
        shortenTo(live, bytes)
      )
        continue;
      return bestSoFar(live);
    }
    // The reservation is on disk before the request leaves, so a crash cannot lose it.
    await live.process.appends.durable();
    live.work.throwIfStopped();
    const last = plan.kind === "last";
    try {
      const tools = (last ? exitTools(live) : offeredTools(live)).descriptions;
      const maxOutput = Math.min(plan.maxOutput, window?.maxOutput ?? plan.maxOutput);
      const reply = await requestModel(live, { maxOutput, tools, try: tries });
      recordTurn(live, reply, last);
      return null;
    } catch (error) {
      if (error instanceof Stopped) throw error;
      if (error instanceof RefusedTurn) return refusedTurn(live, error);
      if (!(error instanceof ModelFault)) throw error;
      live.record(settledFault(live, error));
      const ending = await afterFault(live, error, tries, parts.limits.requestTries);
      if (ending === null) continue;
      if (!giveUpModel(live, error)) return ending;
      tries = 0;
    }
  }
}

/**
 * Contracts are refused when they are made for a model whose price is not known under a cap in
 * dollars. One that an earlier version made is stopped here, before its next request.
 */
function requirePrice(live: LiveDelegation): Ending | null {
  const { contract, run } = live;
  const { cost } = contract.budget;
  const model = modelOf(live);
  if (cost === null || priceOf(live) !== undefined) return null;
  if (run.parts.models.price(model) !== undefined) return null;
  return failure({ code: "model_unpriced", model, cost });
}

/** Gives up the model, if the contract names another one that may answer. */
function giveUpModel(live: LiveDelegation, fault: ModelFault): boolean {
  const { fallbacks = [] } = live.contract.model;
  const next = fallbacks[live.said.modelsGivenUp];
  // A conversation that is too long is so elsewhere too; a model that is not known there may be here.
  if (next === undefined || fault.kind === "context-overflow") return false;
  const reason = `${fault.message} ${next} is asked in its place.`;
  const cause = causeOf(fault);
  live.record(event(live, "agent.retried", { what: "model", cause, next, reason, delay_ms: 0 }));
  return true;
}

type ReservedTurn = Exclude<TurnPlan, { kind: "wait" }>;

function planNow(live: LiveDelegation, bytesToCome = 0): TurnPlan {
  const { budget, contract } = live;
  return planTurn({
    prompt: live.process.request.promptBound + bytesToCome,
    maxOutput: contract.model.max_output_tokens,
    available: budget.available,
    unspent: budget.unspent,
    keepBack: contract.budget.reserve,
    price: priceOf(live),
  });
}

/** Whether the budget has room for another turn when these messages have been added. */
export async function hasRoomFor(
  live: LiveDelegation,
  messages: readonly { readonly message: string }[],
): Promise<boolean> {
  const bytes = messages.reduce(
    (sum, { message }) => sum + Buffer.byteLength(message) + aroundMessage,
    0,
  );
  const fits = (): boolean => "reserve" in planNow(live, bytes);
  boundPrompt(live);
  if (fits()) return true;
  await countPrompt(live);
  return fits();
}

/** More than the words and roles that stand around a message. */
const aroundMessage = 200;

function planNext(live: LiveDelegation): TurnPlan {
  return live.run.parts.models.recordedPlan?.(live.id)?.plan ?? planNow(live);
}

/** Undefined: by that bound a turn with its tools does not fit into what is free now. */
function reserveNow(live: LiveDelegation): ReservedTurn | undefined {
  const plan = planNext(live);
  return plan.kind === "turn" ? reserve(live, plan) : undefined;
}

/**
 * Plans with a better bound than bytes, where the model knows one, and waits while others hold much.
 * `use` is called with nothing awaited in between.
 */
async function planCounted(
  live: LiveDelegation,
  use: (live: LiveDelegation, plan: ReservedTurn) => ReservedTurn,
): Promise<ReservedTurn> {
  await countPrompt(live);
  let plan = planNext(live);
  const { state } = live;
  // If an earlier reservation came too late, the log already says that the delegation waits.
  const isWaiting = state.status === "running" && state.waitingOn.on === "budget";
  if (plan.kind === "wait" && !isWaiting) {
    live.record(event(live, "agent.paused", { reason: "budget" }));
  }
  const { time } = live.process;
  for (; plan.kind === "wait"; plan = planNext(live)) await time.withoutSlot(time.untilReleased());
  return use(live, plan);
}

function reservePlanned(live: LiveDelegation, plan: ReservedTurn): ReservedTurn {
  return plan.kind === "exhausted" ? plan : reserve(live, plan);
}

/**
 * Reserves under stored limits: the amount is admitted first, so that nothing is reserved by a
 * request that waits. The budget may change during the wait; more than was admitted is not reserved.
 */
async function reserveAdmitted(
  live: LiveDelegation,
  gate: AdmissionGate,
): Promise<ReservedTurn | FailedEnding> {
  for (;;) {
    const now = planNow(live);
    const plan = now.kind === "turn" ? now : await planCounted(live, (_live, counted) => counted);
    if (plan.kind === "exhausted") return plan;
    const refusal = await admitRequest(live, gate, plan.reserve);
    if (refusal !== null) return refusal;
    const { cost, tokens } = plan.reserve;
    const later = planNow(live);
    const fits = "reserve" in later && later.reserve.tokens <= tokens && later.reserve.cost <= cost;
    if (fits) return reserve(live, later);
  }
}

/** The contract's count of turns ends here: what there is by now is the result. */
function isLastTurn({ contract, said: { transcript } }: LiveDelegation): boolean {
  const { max_turns: most } = contract.execution;
  return most !== undefined && transcript.turns + 1 >= most;
}

function reserve(live: LiveDelegation, plan: Extract<TurnPlan, { reserve: Amount }>): ReservedTurn {
  const { reserve: amount } = plan;
  // Planned from what is free, with nothing awaited in between: it cannot be gone.
  const isRecorded = live.run.parts.models.recordedPlan?.(live.id) !== undefined;
  if (!isRecorded && !live.budget.fits(amount))
    throw new Error("a planned reservation did not fit");
  const { request: underWay } = live.process;
  const request = requestsOf(live) + 1;
  const recorded = live.run.parts.models.recorded?.(live.id, request);
  underWay.received = recorded?.received ?? 0;
  const prompt = recorded?.isBounded === false ? {} : { prompt: underWay.promptBound };
  const { cost, tokens } = amount;
  const keeps = keepsAfter(live, plan, recorded);
  live.record(
    event(live, "agent.budget_reserved", {
      request,
      tokens,
      ...prompt,
      ...(cost > 0 && { cost: inDollars(cost) }),
      ...(keeps && { keeps }),
    }),
  );
  return isLastTurn(live) ? { ...plan, kind: "last" } : plan;
}

function recordTurn(live: LiveDelegation, reply: ModelReply, last: boolean): void {
  const used = usedFor(live, reply);
  live.record(
    event(live, "agent.model_turn", {
      requested: modelOf(live),
      served: reply.served,
      usage: usageOf(live, used),
      finish_reason: reply.finish,
      ...(reply.text === "" ? {} : { text: reply.text }),
      ...(reply.calls.length === 0
        ? {}
        : { calls: live.said.transcript.withUniqueIds(reply.calls.map(recordableCall)) }),
      // An overrun permits no further turn.
      ...(last || isOverrun(heldBy(live), used) ? { last: true } : {}),
      ...(reply.providerData === undefined ? {} : { provider_data: reply.providerData }),
      ...(reply.takenFrom === undefined ? {} : { taken_from: reply.takenFrom }),
    }),
    settled(live, used),
  );
}

/** Decides what follows a fault; null: the request is tried again. */
async function afterFault(
  live: LiveDelegation,
  fault: ModelFault,
  tries: number,
  allowedTries: number,
): Promise<Ending | null> {
  switch (fault.kind) {
    case "context-overflow":
      // What the provider counted is not known: each refusal takes a quarter away, if there is that much.
      return shortenTo(live, live.said.transcript.bytes) ? null : tooLong(live, fault.message);
    case "spend-cap":
    case "unauthorized":
    case "unknown-model":
    case "wrong-address":
    case "unreachable":
    case "rejected":
      return failure(causeOf(fault));
    case "unreadable":
      // Once more: a second answer like this is no accident.
      if (tries >= Math.min(2, allowedTries)) return failure(causeOf(fault));
      return retryLater(live, fault, tries);
    case "rate-limited":
    case "overloaded":
    case "connection": {
      if (tries >= allowedTries) return retryable(causeOf(fault));
      return retryLater(live, fault, tries);
    }
    default:
      return fault.kind satisfies never;
  }
}

/** Null after a wait; a failure when the delegation has no time for it. */
async function retryLater(
  live: LiveDelegation,
  fault: ModelFault,
  tries: number,
): Promise<Ending | null> {
  const delay = fault.retryAfterMs ?? backoff(live.run.parts, tries);
  const { kind, message: text } = fault;
  if (delay > live.process.time.left()) {
    return failure({ code: "model_unavailable", fault: kind, text, wait_ms: delay });
  }
  live.record(
    event(live, "agent.retried", {
      ...{ what: "request", cause: causeOf(fault), reason: text },
      delay_ms: Math.round(delay),
    }),
  );
  await live.process.time.withoutSlot(live.work.sleep(delay));
  return null;
}

function causeOf(fault: ModelFault): Cause {
  if (fault instanceof StalledRequest) return fault.cause;
  const { kind, message: text, remedy } = fault;
  return { code: "model_unavailable", fault: kind, text, ...(remedy !== undefined && { remedy }) };
}

/** Full jitter between half and the whole of a doubling delay, up to a limit. */
export function backoff({ clock, limits }: Pick<EngineParts, "clock" | "limits">, tries: number) {
  const whole = Math.min(limits.backoffMs * 2 ** (tries - 1), limits.maxBackoffMs);
  return whole / 2 + clock.random() * (whole / 2);
}

/** A turn that the user's middleware, or the registry of models, did not let through. */
function refusedTurn(live: LiveDelegation, { reply, message, cause }: RefusedTurn): Ending {
  // What was answered before it was refused has been paid for.
  live.record(settled(live, reply === null ? unused : usedFor(live, reply)));
  if (cause instanceof MandateError) {
    return failure({ code: "model_unavailable", fault: "rejected", text: message });
  }
  return failure({ code: "turn_refused", text: message });
}

/** What a child that ran out of budget can still hand in. `cause`: why its last request was refused. */
export function bestSoFar(live: LiveDelegation, cause?: Cause): Ending {
  const why = live.run.parts.models.recordedPlan?.(live.id)?.cause ?? cause;
  return bestText(live, "budget_exhausted") ?? failure(why ?? whyNoAnswer(live));
}

/** The failure of a child from whose conversation nothing more can be removed. */
function tooLong(live: LiveDelegation, text: string): Ending {
  const failed = failure({ code: "window_exceeded", text });
  const recorded = live.run.parts.models.recorded?.(live.id, requestsOf(live));
  return recorded?.hasFailed ? failed : (bestText(live, "no_progress") ?? failed);
}

function bestText(
  { said: { transcript } }: LiveDelegation,
  reason: CloseReason,
): Ending | undefined {
  const { bestText: text } = transcript;
  return text === "" ? undefined : { kind: "output", text, truncated: true, reason };
}

function whyNoAnswer(live: LiveDelegation): Cause {
  const { max_output_tokens: maxOutput } = live.contract.model;
  const { promptBound: prompt } = live.process.request;
  return whyNoRoom(live, { prompt, maxOutput, price: priceOf(live) });
}

/** Why the budget has no room for a request with such a prompt. */
export function whyNoRoom(
  { budget, state }: LiveDelegation,
  request: Parameters<typeof leastForAnswer>[0],
): Cause {
  const { available } = budget;
  if (state.overrun) return { code: "budget_overrun" };
  if (available.cost <= 0) return { code: "cost_spent" };
  const least = leastForAnswer(request);
  if (least.tokens <= available.tokens) {
    const [needed, left] = [inDollars(least.cost), inDollars(available.cost)];
    return { code: "cost_too_small", needed, left };
  }
  return { code: "tokens_too_small", needed: least.tokens };
}

const deepest = 200;

/** What cannot be written down cannot be judged, replayed or verified: it is a malformed call. */
function recordableCall(call: ToolCall): ToolCall {
  if (call.malformed !== undefined) return call;
  try {
    const text = JSON.stringify(call.input) ?? "";
    if (depthOf(text) <= deepest) return call;
  } catch {
    // The value contains itself, or a number that JSON does not have.
  }
  return {
    id: call.id,
    name: call.name,
    input: undefined,
    malformed: "not plain JSON, or nested too deep",
  };
}

function depthOf(json: string): number {
  if (json.length < deepest) return 0;
  let depth = 0;
  let most = 0;
  for (const character of json) {
    if (character === "{" || character === "[") most = Math.max(most, ++depth);
    else if (character === "}" || character === "]") depth--;
  }
  return most;
}
