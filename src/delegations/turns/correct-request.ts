import { billionths } from "../../ports/dollars.ts";
import type { ModelUsage } from "../../ports/model.ts";
import type { Amount, Held } from "../budget.ts";
import { event, type LiveDelegation } from "../live-delegation.ts";
import { costOf, counted, isOverrun, type Used } from "./settle-request.ts";

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
export function correctRequest(
  agent: LiveDelegation,
  request: number,
  usage: ModelUsage | null,
): void {
  const estimate = agent.process.request.estimates.get(request);
  const reported = counted(usage);
  if (estimate === undefined || reported === null) return;
  const isOpen = agent.state.status === "running" || agent.state.status === "waiting_for_merge";
  if (!isOpen || agent.process.end.isEnding || agent.work.isParked) return;
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
  agent.process.request.estimates.delete(request);
}

function isFree({ budget }: LiveDelegation, { cost, tokens }: Amount): boolean {
  const { certain } = budget;
  return tokens <= Math.max(0, certain.tokens) && cost <= Math.max(0, certain.cost);
}
