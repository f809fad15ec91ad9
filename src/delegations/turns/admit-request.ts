import { inDollars } from "../../ports/dollars.ts";
import { type Amount, worstCase } from "../budget.ts";
import { type FailedEnding, failure } from "../ends/ending.ts";
import { event, type LiveDelegation, modelOf, priceOf, requestsOf } from "../live-delegation.ts";
import type { AdmissionGate, AdmissionWait } from "./admission-gate.ts";

/**
 * Waits until the next request of a delegation is admitted under the stored limits, without its
 * slot. A quota that is spent ends it: waiting for midnight would hold it for hours.
 */
export async function admitRequest(
  live: LiveDelegation,
  gate: AdmissionGate,
  reserve: Amount,
): Promise<FailedEnding | null> {
  const { process, run, work } = live;
  const model = modelOf(live);
  const [provider = ""] = model.split("/");
  const queue = gate.queueOf(live.contract.profile.id, live.contract.model.provider);
  const bound = { tokens: reserve.tokens, cost: boundOf(live, model, reserve) };
  const { clock } = run.parts;
  let waits = false;
  const wait: AdmissionWait = {
    async pause({ afterMs }) {
      if (!waits) live.record(event(live, "agent.paused", { reason: "limit" }));
      waits = true;
      process.time.giveSlot();
      // Requests of other processes that wait for the same moment do not come at once.
      await work.sleep(afterMs * (0.75 + clock.random() / 2));
    },
    queue: () => process.time.giveSlot(),
    interruptible: (waiting) => work.interruptible(waiting),
  };
  const request = { delegationId: live.id, request: requestsOf(live) + 1, provider, queue };
  const admission = await work.interruptible(gate.admit({ ...request, ...bound }, wait));
  const back = process.time.takeSlot();
  if (back !== undefined) await work.interruptible(back);
  if (admission.is === "admitted") return null;
  const most = inDollars(admission.most);
  if (bound.cost === null) return failure({ code: "model_unpriced", model, cost: most });
  const [spent, needed] = [inDollars(admission.spent), inDollars(bound.cost)];
  return failure({ code: "quota_spent", scope: admission.scope, most, spent, needed });
}

/** The most that the request can cost, also where its contract has no cap in dollars; null: no price is known. */
function boundOf(live: LiveDelegation, model: string, { cost, tokens }: Amount): number | null {
  if (priceOf(live) !== undefined) return cost;
  const price = live.run.parts.models.price(model);
  if (price === undefined) return null;
  const { promptBound: prompt } = live.process.request;
  return worstCase({ price, prompt }, tokens - prompt).cost;
}
