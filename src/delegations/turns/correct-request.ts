import { billionths } from "../../ports/dollars.ts";
import type { ModelUsage } from "../../ports/model.ts";
import type { Agent } from "../agent.ts";
import { event } from "../agent-event.ts";
import { type Amount, type Held, nothing } from "./ledger.ts";
import { costOf, counted, isOverrun, sum, type Used } from "./settle-request.ts";

/** A request that was settled as an estimate, and can be corrected while its delegation is open. */
export interface Estimate {
  readonly used: Used;
  readonly reserved: Held;
  readonly model: string;
}

/**
 * The provider reported after all what a request has used that was cut and settled as an estimate.
 * The difference is settled, unless the delegation has ended or rests, or the difference is within
 * the request's limits and no longer free: others hold it by now, and the estimate stays.
 */
export function correctRequest(agent: Agent, request: number, usage: ModelUsage | null): void {
  const estimate = agent.estimates.get(request);
  const reported = counted(usage);
  if (estimate === undefined || reported === null) return;
  const isOpen = agent.status === "running" || agent.status === "waiting_for_merge";
  if (!isOpen || agent.isEnding || agent.isParked) return;
  const { model, reserved, used: before } = estimate;
  const { completion, prompt } = reported;
  const used: Used = { prompt, completion, cost: costOf(agent, model, reported) };
  const overrun = isOverrun(reserved, used);
  const more = {
    tokens: prompt + completion - before.prompt - before.completion,
    cost: billionths(used.cost) - billionths(before.cost),
  };
  if (!overrun && !isFree(agent, more)) return;
  agent.record(
    event(agent, "agent.budget_corrected", {
      request,
      prompt,
      completion,
      cost: used.cost,
      replaces: { prompt: before.prompt, completion: before.completion, cost: before.cost },
      ...(overrun && { overrun: true }),
    }),
  );
  agent.estimates.delete(request);
  agent.estimated--;
  agent.account.settle(nothing, more);
  if (overrun) agent.account.isOverrun = true;
  const { completion: spoken, cost, prompt: asked } = before;
  const taken = { prompt: -asked, completion: -spoken, cost: -cost };
  agent.usage = sum(agent, sum(agent, agent.usage, used), taken);
}

/** In a distributed run other workers may take what is free here before this is written. */
function isFree({ account, run }: Agent, { cost, tokens }: Amount): boolean {
  const { available } = account;
  const free = run.isSpread ? nothing : available;
  return tokens <= Math.max(0, free.tokens) && cost <= Math.max(0, free.cost);
}
