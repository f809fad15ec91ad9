import type { Contract } from "../../contracts/contract.ts";
import type { StoredEvent } from "../../events/event.ts";
import { Account } from "../../delegations/ledger.ts";
import { planTurn, promptBound } from "../../delegations/plan-turn.ts";
import { Transcript } from "../../sessions/transcript.ts";
import type { RecordedDelegation, Recording } from "./recording.ts";

/**
 * How large the descriptions of the tools were that each delegation's model was shown. The log does
 * not have them; what was reserved for the first request tells, once it is known what could be.
 */
export function recordedToolTokens(recording: Recording): ReadonlyMap<string, number> {
  const run = new Account(null, recording.started.budget.tokens);
  const accounts = new Map<string, Account>();
  const found = new Map<string, number>();
  for (const event of recording.events) {
    const delegation = recording.delegations.get(event.sub_agent_id ?? "");
    if (delegation === undefined) continue;
    const { contract, id, parentId } = delegation;
    const account = accounts.get(id) ?? accountOf(contract, accounts.get(parentId ?? "") ?? run);
    accounts.set(id, account);
    if (event.type === "agent.budget_reserved") {
      if (event.payload.request === 1) {
        const least = withoutTools(delegation);
        const prompt = promptBehind(event.payload.tokens, least, contract, account);
        if (prompt !== undefined) found.set(id, prompt - least);
      }
      account.restoreReservation(event.payload.tokens);
    } else if (event.type === "agent.budget_settled") {
      const { completion, cost, prompt, reserved } = event.payload;
      account.settle(reserved, prompt + completion, cost);
    }
  }
  return found;
}

function accountOf({ budget }: Contract, above: Account): Account {
  return new Account(above, budget.tokens, budget.cost);
}

/** The bound on the prompt for which just this much is reserved; undefined: several would do. */
function promptBehind(
  tokens: number,
  least: number,
  contract: Contract,
  account: Account,
): number | undefined {
  const { available, unspent } = account;
  const maxOutput = contract.model.max_output_tokens;
  const keepBack = contract.budget.reserve;
  const leadsThere = (prompt: number): boolean => {
    const plan = planTurn({ prompt, maxOutput, available, unspent, keepBack });
    return "reserve" in plan && plan.reserve === tokens;
  };
  // All that the model can say, or as much as leaves room for a last turn.
  return [tokens - maxOutput, available - keepBack - tokens].find(
    (prompt) => prompt >= least && leadsThere(prompt),
  );
}

function withoutTools({ events, opening, system }: RecordedDelegation): number {
  const transcript = new Transcript(opening);
  for (const event of events.slice(0, firstRequest(events))) transcript.apply(event);
  return promptBound({
    counted: null,
    bytesSince: transcript.bytesSince,
    systemBytes: Buffer.byteLength(system),
    toolTokens: 0,
  });
}

function firstRequest(events: readonly StoredEvent[]): number {
  return events.findIndex(({ type }) => type === "agent.budget_reserved");
}
