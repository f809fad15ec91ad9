import { unpriced } from "../../contracts/narrow-models.ts";
import { inDollars } from "../../ports/dollars.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import type { ModelReply } from "../../ports/model.ts";
import { ModelFault } from "../../ports/model-fault.ts";
import type { OfferedTools } from "../../tools/toolbox.ts";
import type { Agent } from "../agent.ts";
import { event } from "../agent-event.ts";
import { type Ending, failure, Stopped } from "../ends/ending.ts";
import type { EngineLimits } from "../engine-parts.ts";
import type { Amount } from "./ledger.ts";
import { hasServers, openServers, withServerTools } from "./open-servers.ts";
import { leastForAnswer, planTurn, promptBound, type TurnPlan } from "./plan-turn.ts";
import { recordableCall } from "./recordable-call.ts";
import { RefusedTurn, requestModel, StalledRequest } from "./request-model.ts";
import { isOverrun, settled, settledFault, unused, usageOf, usedFor } from "./settle-request.ts";

/**
 * One model turn: plan what it may cost, reserve that, send, settle, record. Passing faults are
 * waited out here; null means that the turn is in the transcript.
 */
export async function takeTurn(agent: Agent): Promise<Ending | null> {
  const { parts } = agent.run;
  for (let tries = 1; ; tries++) {
    const withoutPrice = requirePrice(agent);
    if (withoutPrice !== null) return withoutPrice;
    if (agent.serverTools === null && hasServers(agent)) await openServers(agent);
    const prompt = boundPrompt(agent);
    const plan = reserveNow(agent, prompt) ?? (await reserveLater(agent, prompt));
    if (plan.kind === "exhausted") return bestSoFar(agent);
    // The worst case is on disk before the request leaves: a crash cannot make it forgotten.
    await agent.appends.durable();
    agent.throwIfStopped();
    const last = plan.kind === "last";
    try {
      const tools = offeredTools(agent, last).descriptions;
      const reply = await requestModel(agent, { maxOutput: plan.maxOutput, tools, try: tries });
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
function requirePrice({ contract, model, price, run }: Agent): Ending | null {
  const { cost } = contract.budget;
  if (cost === null || price !== undefined) return null;
  if (run.parts.models.price(model) !== undefined) return null;
  return failure("budget_exhausted", unpriced(model, cost));
}

/** The tools a turn is offered; in the last one only those that end it. */
function offeredTools(agent: Agent, last: boolean): OfferedTools {
  const { contract, run } = agent;
  if (last) return run.parts.toolbox.offer(contract.exit.tools);
  agent.offered ??= withServerTools(
    run.parts.toolbox.offer(contract.permissions.allowed_tools),
    agent.serverTools,
  );
  return agent.offered;
}

/** Another model may answer in this one's place, when the contract names one. */
function giveUpModel(agent: Agent, { kind, message }: ModelFault): boolean {
  const { fallbacks = [] } = agent.contract.model;
  const next = fallbacks[agent.modelsGivenUp];
  // A conversation that is too long is so elsewhere too; a model that is not known there may be here.
  if (next === undefined || kind === "context-overflow") return false;
  const reason = `${agent.model} cannot be had (${message}). ${next} is asked in its place.`;
  agent.modelsGivenUp++;
  agent.record(event(agent, "agent.retried", { what: "model", reason, delay_ms: 0 }));
  return true;
}

type ReservedTurn = Exclude<TurnPlan, { kind: "wait" }>;

function boundPrompt(agent: Agent): number {
  const { transcript } = agent;
  keepToWindow(agent);
  agent.promptBound = promptBound({
    counted: transcript.countedTokens,
    bytesSince: transcript.bytesSince,
    systemBytes: agent.systemBytes,
    toolTokens: offeredTools(agent, false).tokens,
  });
  return agent.promptBound;
}

/** Undefined: others hold what it needs, and will give some of it back. */
function reserveNow(agent: Agent, prompt: number): ReservedTurn | undefined {
  const { account, contract } = agent;
  const plan = planTurn({
    prompt,
    maxOutput: contract.model.max_output_tokens,
    available: account.available,
    unspent: account.unspent,
    keepBack: contract.budget.reserve,
    price: agent.price,
  });
  if (plan.kind === "exhausted") return plan;
  if (plan.kind === "wait") return undefined;
  reserve(agent, plan.reserve);
  return isLastTurn(agent) ? { ...plan, kind: "last" } : plan;
}

async function reserveLater(agent: Agent, prompt: number): Promise<ReservedTurn> {
  agent.record(event(agent, "agent.paused", { reason: "budget" }));
  for (;;) {
    await agent.interruptible(agent.account.released());
    const plan = reserveNow(agent, prompt);
    if (plan !== undefined) return plan;
  }
}

/** The contract's count of turns ends here: what there is by now is the result. */
function isLastTurn({ contract, transcript }: Agent): boolean {
  const { max_turns: most } = contract.execution;
  return most !== undefined && transcript.turns + 1 >= most;
}

/** A profile that may use only a part of the model's window has its conversation shortened early. */
function keepToWindow(agent: Agent): void {
  const { contract, transcript } = agent;
  const { context_window: window, max_output_tokens: output } = contract.model;
  if (window === undefined || transcript.countedTokens === null) return;
  // Four bytes are about a token: a bound that is meant to be kept, not one that money hangs on.
  const likely = transcript.countedTokens + transcript.bytesSince / 4;
  if (likely + output <= window || transcript.compactions > 0) return;
  const before = transcript.messages.length;
  agent.record(event(agent, "agent.compacted", { before_messages: before }));
}

function reserve(agent: Agent, amount: Amount): void {
  // Planned from what is free, with nothing awaited in between: it cannot be gone.
  if (!agent.account.reserve(amount)) throw new Error("a planned reservation did not fit");
  agent.requests++;
  const recorded = agent.run.parts.models.recorded?.(agent.id, agent.requests);
  agent.received = recorded?.received ?? 0;
  const prompt = recorded?.isBounded === false ? {} : { prompt: agent.promptBound };
  agent.reservation = { ...amount, ...prompt };
  const { cost, tokens } = amount;
  agent.record(
    event(agent, "agent.budget_reserved", {
      request: agent.requests,
      tokens,
      ...prompt,
      ...(cost > 0 && { cost: inDollars(cost) }),
    }),
  );
}

function recordTurn(agent: Agent, reply: ModelReply, last: boolean): void {
  const { model } = agent;
  const used = usedFor(agent, reply);
  agent.turns++;
  agent.record(
    event(agent, "agent.model_turn", {
      requested: model,
      served: reply.served,
      usage: usageOf(agent, used),
      finish_reason: reply.finish,
      ...(reply.text === "" ? {} : { text: reply.text }),
      ...(reply.calls.length === 0
        ? {}
        : { calls: agent.transcript.withUniqueIds(reply.calls.map(recordableCall)) }),
      // After an overrun no further turn follows.
      ...(last || isOverrun(agent.reservation, used) ? { last: true } : {}),
      ...(reply.providerData === undefined ? {} : { provider_data: reply.providerData }),
      ...(reply.takenFrom === undefined ? {} : { taken_from: reply.takenFrom }),
    }),
    settled(agent, used),
  );
}

/** Null: try again. */
async function afterFault(
  agent: Agent,
  fault: ModelFault,
  tries: number,
  allowedTries: number,
): Promise<Ending | null> {
  switch (fault.kind) {
    case "context-overflow":
      if (agent.transcript.compactions > 0) {
        return failure(
          "no_progress",
          `The conversation does not fit the model's window: ${fault.message}`,
        );
      }
      agent.record(
        event(agent, "agent.compacted", { before_messages: agent.transcript.messages.length }),
      );
      return null;
    case "spend-cap":
    case "unauthorized":
    case "rejected":
      return failure("provider_unavailable", fault.message);
    case "rate-limited":
    case "overloaded":
    case "connection": {
      if (tries >= allowedTries) {
        const code = fault instanceof StalledRequest ? "timeout" : "provider_unavailable";
        return failure(code, fault.message, true);
      }
      const delay = fault.retryAfterMs ?? backoff(agent.run.parts.limits, tries);
      if (delay > agent.time.left()) {
        return failure(
          "provider_unavailable",
          `${fault.message} It asks to wait ${delay} ms, which is longer than the delegation has left.`,
        );
      }
      agent.record(
        event(agent, "agent.retried", {
          what: "request",
          reason: fault.message,
          delay_ms: Math.round(delay),
        }),
      );
      await agent.sleep(delay);
      return null;
    }
    default:
      return fault.kind satisfies never;
  }
}

/** Full jitter between half and the whole of a doubling delay, up to a limit. */
export function backoff(
  limits: Pick<EngineLimits, "backoffMs" | "maxBackoffMs">,
  tries: number,
): number {
  const whole = Math.min(limits.backoffMs * 2 ** (tries - 1), limits.maxBackoffMs);
  return whole / 2 + Math.random() * (whole / 2);
}

/** A turn that the user's middleware, or the registry of models, did not let through. */
function refusedTurn(agent: Agent, { reply, message, cause }: RefusedTurn): Ending {
  // What was answered before it was refused has been paid for.
  agent.record(settled(agent, reply === null ? unused : usedFor(agent, reply)));
  if (cause instanceof MandateError) return failure("provider_unavailable", message);
  return failure("policy_denied", `The turn was refused: ${message}`);
}

/** What a child that ran out of budget can still hand in. */
export function bestSoFar(agent: Agent): Ending {
  const { transcript } = agent;
  if (transcript.bestText !== "") {
    const text = transcript.bestText;
    return { kind: "output", text, truncated: true, reason: "budget_exhausted" };
  }
  return failure("budget_exhausted", whyNoAnswer(agent));
}

function whyNoAnswer({ account, contract, price, promptBound: prompt }: Agent): string {
  const { available } = account;
  if (account.isOverrun) {
    return "The provider reported more tokens than the request allowed, so nothing more is sent, and there is no answer yet.";
  }
  if (available.cost <= 0) return "What it may cost is spent, and there is no answer yet.";
  const least = leastForAnswer({ prompt, price, maxOutput: contract.model.max_output_tokens });
  if (least.tokens <= available.tokens) {
    const [needed, left] = [least, available].map(({ cost }) => dollarsOf(cost));
    return `A single answer may cost ${needed} here, and ${left} are left of what it may cost.`;
  }
  return `The budget is too small for a single answer, which may take ${least.tokens} tokens here.`;
}

/** Cents of cents, and of cheap models what there is. */
function dollarsOf(cost: number): string {
  const digits = cost >= 1e7 ? 4 : 9;
  return `$${inDollars(cost)
    .toFixed(digits)
    .replace(/(\.\d{2,}?)0+$/, "$1")}`;
}
