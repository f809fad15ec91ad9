import type { TokenPrice } from "../../contracts/token-price.ts";
import { billionths, inDollars } from "../../ports/dollars.ts";
import type { ModelReply, ModelUsage } from "../../ports/model.ts";
import type { ModelFault } from "../../ports/model-fault.ts";
import type { Agent } from "../agent.ts";
import { event } from "../agent-event.ts";
import { type Amount, nothing } from "./ledger.ts";

/** What a request has used, as far as anybody knows. */
export interface Used {
  readonly prompt: number;
  readonly completion: number;
  /** In dollars. */
  readonly cost: number;
  /** The provider did not say it, or said what cannot be: the worst case stands here. */
  readonly isEstimated: boolean;
}

export const unused: Used = Object.freeze({
  prompt: 0,
  completion: 0,
  cost: 0,
  isEstimated: false,
});

type Settlement = ReturnType<typeof event<"agent.budget_settled">>;

/** Settles what is reserved: from the child and every ancestor, once. */
export function settled(agent: Agent, used: Used): Settlement {
  const { completion, cost, isEstimated, prompt } = used;
  const reserved = agent.reservation;
  agent.account.settle(reserved, { tokens: prompt + completion, cost: billionths(cost) });
  agent.reservation = nothing;
  agent.usage = {
    prompt: agent.usage.prompt + prompt,
    completion: agent.usage.completion + completion,
    cost: agent.usage.cost + cost,
  };
  return event(agent, "agent.budget_settled", {
    request: agent.requests,
    reserved: reserved.tokens,
    prompt,
    completion,
    cost,
    ...(isEstimated ? { estimated: true } : {}),
  });
}

/** Whatever request is under way, if one is: nobody will hear any more what it has used. */
export function settledIfOpen(agent: Agent): readonly Settlement[] {
  return agent.reservation.tokens > 0 ? [settled(agent, worstOf(agent))] : [];
}

export function settledFault(agent: Agent, fault: ModelFault): Settlement {
  const settlement = settled(agent, isFree(fault) ? unused : worstOf(agent));
  const { partial } = fault;
  if (!partial) return settlement;
  // What had arrived is kept as data; nothing of it is acted upon.
  return { ...settlement, payload: { ...settlement.payload, partial: partial.slice(0, 4000) } };
}

/** Faults that a provider does not charge for; after any other the worst case is taken as used. */
function isFree({ cause, kind, partial }: ModelFault): boolean {
  const code = (cause as { code?: unknown } | undefined)?.code;
  // One that had begun to answer charges for that.
  return neverConnected.has(code) || (refusals.has(kind) && !partial);
}

const refusals: ReadonlySet<string> = new Set([
  "rate-limited",
  "spend-cap",
  "overloaded",
  "context-overflow",
  "unauthorized",
  "rejected",
]);

const neverConnected: ReadonlySet<unknown> = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN"]);

function worstOf({ reservation: { cost, tokens } }: Agent): Used {
  return { prompt: tokens, completion: 0, cost: inDollars(cost), isEstimated: true };
}

/** What an answer has used: what was reported, if it can be so. */
export function usedFor(agent: Agent, reply: ModelReply): Used {
  const reported = believable(reply.usage, agent);
  const { prompt, completion } = reported ?? estimate(agent, reply);
  const isEstimated = reported === null;
  // Its tokens count all the same: what they say of the conversation is what the next bound rests on.
  const cost =
    reply.takenFrom === undefined
      ? costOf(agent, reported ?? { prompt, completion }, isEstimated)
      : 0;
  return { prompt, completion, cost, isEstimated };
}

/**
 * A count that is none (negative, not a number) would give tokens back, and one above all that was
 * left could not have been used: both count as not reported.
 */
function believable(usage: ModelUsage | null, agent: Agent): ModelUsage | null {
  if (usage === null) return null;
  const { prompt, completion, cached = 0, cacheWrite = 0 } = usage;
  const isCount = [prompt, completion, cached, cacheWrite].every(
    (count) => Number.isSafeInteger(count) && count >= 0,
  );
  const isPossible = prompt + completion <= chargeable(agent).tokens;
  return isCount && cached + cacheWrite <= prompt && isPossible ? usage : null;
}

/** Nothing that can be so was reported: no prompt is more than its bound, no answer than its bytes. */
function estimate(agent: Agent, reply: ModelReply): ModelUsage {
  const bytes = Buffer.byteLength(reply.text) + Buffer.byteLength(JSON.stringify(reply.calls));
  const { completion: told = 0 } = reply.usage ?? {};
  const most = agent.reservation.tokens - agent.promptBound;
  const completion = Math.min(told > bytes ? told : bytes, most);
  return { prompt: agent.promptBound, completion };
}

/**
 * In dollars, by the prices of the contract where it has them: the list of another worker, or of
 * tomorrow, is not what was agreed. Whatever a provider counts, it is charged no more than was left.
 */
function costOf(agent: Agent, usage: ModelUsage, isEstimated: boolean): number {
  const { contract, model, reservation, run } = agent;
  const { prices } = contract.model;
  if (prices === undefined) return run.parts.models.cost(model, usage);
  // Nobody knows what was thought besides what was said.
  if (isEstimated) return inDollars(reservation.cost);
  const cost = run.parts.models.cost(model, usage, prices[model] ?? free);
  return inDollars(Math.min(billionths(cost), chargeable(agent).cost));
}

const free: TokenPrice = Object.freeze({ input: 0, output: 0 });

/** What a request can be charged at most. Of a spread run others may have taken what is free here. */
function chargeable({ account, reservation, run }: Agent): Amount {
  if (run.isSpread) return reservation;
  const { cost, tokens } = account.available;
  return {
    tokens: reservation.tokens + Math.max(0, tokens),
    cost: reservation.cost + Math.max(0, cost),
  };
}
