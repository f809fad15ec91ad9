import type { Cause } from "../../events/cause.ts";
import type { CloseReason } from "../../events/close-reason.ts";
import { inDollars } from "../../ports/dollars.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import { ModelFault, type ModelReply, type ToolCall } from "../../ports/model.ts";
import { type Amount, leastForAnswer, planTurn, type TurnPlan } from "../budget.ts";
import { type Ending, failure, Stopped } from "../ends/ending.ts";
import type { EngineParts } from "../engine-parts.ts";
import {
  event,
  heldBy,
  type LiveDelegation,
  modelOf,
  priceOf,
  requestsOf,
} from "../live-delegation.ts";
import {
  boundPrompt,
  canCount,
  countPrompt,
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
export async function takeTurn(agent: LiveDelegation): Promise<Ending | null> {
  const { parts } = agent.run;
  for (let tries = 1; ; tries++) {
    const withoutPrice = requirePrice(agent);
    if (withoutPrice !== null) return withoutPrice;
    if (agent.process.tools.ofServers === null && hasServers(agent)) await openServers(agent);
    const window = keepToWindow(agent);
    if (window?.isTooSmall) return tooLong(agent, "the prompt is longer than the window.");
    boundPrompt(agent);
    const plan = reserveNow(agent) ?? (await reserveCounted(agent));
    if (plan.kind === "exhausted") {
      // Results that turned out longer than what was kept back for them enter it shortened.
      const { bytes } = agent.said.transcript;
      if (agent.process.children.length > 0 && canCount(agent) && shortenTo(agent, bytes)) continue;
      return bestSoFar(agent);
    }
    // The worst case is on disk before the request leaves: a crash cannot make it forgotten.
    await agent.process.appends.durable();
    agent.work.throwIfStopped();
    const last = plan.kind === "last";
    try {
      const tools = offeredTools(agent, last).descriptions;
      const maxOutput = Math.min(plan.maxOutput, window?.maxOutput ?? plan.maxOutput);
      const reply = await requestModel(agent, { maxOutput, tools, try: tries });
      recordTurn(agent, reply, last);
      return null;
    } catch (error) {
      if (error instanceof Stopped) throw error;
      if (error instanceof RefusedTurn) return refusedTurn(agent, error);
      if (!(error instanceof ModelFault)) throw error;
      agent.record(settledFault(agent, error));
      const ending = await afterFault(agent, error, tries, parts.limits.requestTries);
      if (ending === null) continue;
      if (!giveUpModel(agent, error)) return ending;
      tries = 0;
    }
  }
}

/**
 * Contracts are refused when they are made for a model whose price is not known under a cap in
 * dollars. One that an earlier version made is stopped here, before its next request.
 */
function requirePrice(agent: LiveDelegation): Ending | null {
  const { contract, run } = agent;
  const { cost } = contract.budget;
  const model = modelOf(agent);
  if (cost === null || priceOf(agent) !== undefined) return null;
  if (run.parts.models.price(model) !== undefined) return null;
  return failure({ code: "model_unpriced", model, cost });
}

/** Another model may answer in this one's place, when the contract names one. */
function giveUpModel(agent: LiveDelegation, fault: ModelFault): boolean {
  const { fallbacks = [] } = agent.contract.model;
  const next = fallbacks[agent.said.modelsGivenUp];
  // A conversation that is too long is so elsewhere too; a model that is not known there may be here.
  if (next === undefined || fault.kind === "context-overflow") return false;
  const reason = `${modelOf(agent)} cannot be had (${fault.message}). ${next} is asked in its place.`;
  const cause = causeOf(fault);
  agent.record(event(agent, "agent.retried", { what: "model", cause, next, reason, delay_ms: 0 }));
  return true;
}

type ReservedTurn = Exclude<TurnPlan, { kind: "wait" }>;

function planNow(agent: LiveDelegation, bytesToCome = 0): TurnPlan {
  const { budget, contract } = agent;
  return planTurn({
    prompt: agent.process.request.promptBound + bytesToCome,
    maxOutput: contract.model.max_output_tokens,
    available: budget.available,
    unspent: budget.unspent,
    keepBack: contract.budget.reserve,
    price: priceOf(agent),
  });
}

/** Whether the budget has room for another turn when these messages have been added. */
export async function hasRoomFor(
  agent: LiveDelegation,
  messages: readonly { readonly message: string }[],
): Promise<boolean> {
  const bytes = messages.reduce(
    (sum, { message }) => sum + Buffer.byteLength(message) + aroundMessage,
    0,
  );
  const fits = (): boolean => "reserve" in planNow(agent, bytes);
  boundPrompt(agent);
  if (fits()) return true;
  await countPrompt(agent);
  return fits();
}

/** More than the words and roles that stand around a message. */
const aroundMessage = 200;

/** Undefined: by that bound a turn with its tools does not fit into what is free now. */
function reserveNow(agent: LiveDelegation): ReservedTurn | undefined {
  const plan = planNow(agent);
  return plan.kind === "turn" ? reserve(agent, plan) : undefined;
}

/** Plans with a better bound than bytes, where the model knows one, and waits while others hold much. */
async function reserveCounted(agent: LiveDelegation): Promise<ReservedTurn> {
  await countPrompt(agent);
  let plan = planNow(agent);
  if (plan.kind === "wait") agent.record(event(agent, "agent.paused", { reason: "budget" }));
  for (; plan.kind === "wait"; plan = planNow(agent)) {
    await agent.work.interruptible(agent.process.time.untilReleased());
  }
  return plan.kind === "exhausted" ? plan : reserve(agent, plan);
}

/** The contract's count of turns ends here: what there is by now is the result. */
function isLastTurn({ contract, said: { transcript } }: LiveDelegation): boolean {
  const { max_turns: most } = contract.execution;
  return most !== undefined && transcript.turns + 1 >= most;
}

function reserve(
  agent: LiveDelegation,
  plan: Extract<TurnPlan, { reserve: Amount }>,
): ReservedTurn {
  const { reserve: amount } = plan;
  // Planned from what is free, with nothing awaited in between: it cannot be gone.
  if (!agent.budget.fits(amount)) throw new Error("a planned reservation did not fit");
  const { request: underWay } = agent.process;
  const request = requestsOf(agent) + 1;
  const recorded = agent.run.parts.models.recorded?.(agent.id, request);
  underWay.received = recorded?.received ?? 0;
  const prompt = recorded?.isBounded === false ? {} : { prompt: underWay.promptBound };
  const { cost, tokens } = amount;
  const keeps = keepsAfter(agent, plan, recorded);
  agent.record(
    event(agent, "agent.budget_reserved", {
      request,
      tokens,
      ...prompt,
      ...(cost > 0 && { cost: inDollars(cost) }),
      ...(keeps && { keeps }),
    }),
  );
  return isLastTurn(agent) ? { ...plan, kind: "last" } : plan;
}

function recordTurn(agent: LiveDelegation, reply: ModelReply, last: boolean): void {
  const used = usedFor(agent, reply);
  agent.record(
    event(agent, "agent.model_turn", {
      requested: modelOf(agent),
      served: reply.served,
      usage: usageOf(agent, used),
      finish_reason: reply.finish,
      ...(reply.text === "" ? {} : { text: reply.text }),
      ...(reply.calls.length === 0
        ? {}
        : { calls: agent.said.transcript.withUniqueIds(reply.calls.map(recordableCall)) }),
      // After an overrun no further turn follows.
      ...(last || isOverrun(heldBy(agent), used) ? { last: true } : {}),
      ...(reply.providerData === undefined ? {} : { provider_data: reply.providerData }),
      ...(reply.takenFrom === undefined ? {} : { taken_from: reply.takenFrom }),
    }),
    settled(agent, used),
  );
}

/** Null: try again. */
async function afterFault(
  agent: LiveDelegation,
  fault: ModelFault,
  tries: number,
  allowedTries: number,
): Promise<Ending | null> {
  switch (fault.kind) {
    case "context-overflow":
      // What the provider counted is not known: each refusal takes a quarter away, if there is that much.
      return shortenTo(agent, agent.said.transcript.bytes) ? null : tooLong(agent, fault.message);
    case "spend-cap":
    case "unauthorized":
    case "rejected":
      return failure(causeOf(fault));
    case "rate-limited":
    case "overloaded":
    case "connection": {
      if (tries >= allowedTries) return failure(causeOf(fault), true);
      const delay = fault.retryAfterMs ?? backoff(agent.run.parts, tries);
      if (delay > agent.process.time.left()) {
        const { kind, message: text } = fault;
        return failure({ code: "model_unavailable", fault: kind, text, wait_ms: delay });
      }
      agent.record(
        event(agent, "agent.retried", {
          what: "request",
          cause: causeOf(fault),
          reason: fault.message,
          delay_ms: Math.round(delay),
        }),
      );
      await agent.work.sleep(delay);
      return null;
    }
    default:
      return fault.kind satisfies never;
  }
}

function causeOf(fault: ModelFault): Cause {
  if (fault instanceof StalledRequest) return fault.cause;
  return { code: "model_unavailable", fault: fault.kind, text: fault.message };
}

/** Full jitter between half and the whole of a doubling delay, up to a limit. */
export function backoff({ clock, limits }: Pick<EngineParts, "clock" | "limits">, tries: number) {
  const whole = Math.min(limits.backoffMs * 2 ** (tries - 1), limits.maxBackoffMs);
  return whole / 2 + clock.random() * (whole / 2);
}

/** A turn that the user's middleware, or the registry of models, did not let through. */
function refusedTurn(agent: LiveDelegation, { reply, message, cause }: RefusedTurn): Ending {
  // What was answered before it was refused has been paid for.
  agent.record(settled(agent, reply === null ? unused : usedFor(agent, reply)));
  if (cause instanceof MandateError) {
    return failure({ code: "model_unavailable", fault: "rejected", text: message });
  }
  return failure({ code: "turn_refused", text: message });
}

/** What a child that ran out of budget can still hand in. */
export function bestSoFar(agent: LiveDelegation): Ending {
  return bestText(agent, "budget_exhausted") ?? failure(whyNoAnswer(agent));
}

/** Nothing more can be removed from the conversation of a child. */
function tooLong(agent: LiveDelegation, text: string): Ending {
  const failed = failure({ code: "window_exceeded", text });
  const recorded = agent.run.parts.models.recorded?.(agent.id, requestsOf(agent));
  return recorded?.hasFailed ? failed : (bestText(agent, "no_progress") ?? failed);
}

function bestText(
  { said: { transcript } }: LiveDelegation,
  reason: CloseReason,
): Ending | undefined {
  const { bestText: text } = transcript;
  return text === "" ? undefined : { kind: "output", text, truncated: true, reason };
}

function whyNoAnswer(agent: LiveDelegation): Cause {
  const { budget, contract, state } = agent;
  const { available } = budget;
  const [price, prompt] = [priceOf(agent), agent.process.request.promptBound];
  if (state.overrun) return { code: "budget_overrun" };
  if (available.cost <= 0) return { code: "cost_spent" };
  const least = leastForAnswer({ prompt, price, maxOutput: contract.model.max_output_tokens });
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
    // A circle, or a number that JSON does not have.
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
