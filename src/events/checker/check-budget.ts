import type { StoredEvent, TokenUsage } from "../event.ts";
import { type CheckedRun, type Known, type RunCheck, withAncestors } from "./checked-run.ts";

interface Account {
  readonly cap: number;
  /** In dollars. */
  readonly costCap: number;
  settled: number;
  reserved: number;
  cost: number;
  reservedCost: number;
  isOverdrawn: boolean;
}

interface Amount {
  readonly tokens: number;
  readonly cost: number;
}

interface Spending {
  requests: number;
  /** The request under way, and what its answer says that it cost. */
  open: { readonly reserved: Amount; turn: TokenUsage | null } | null;
}

/**
 * I12: at every moment, for every agent and the run, what its subtree has spent and may still be
 * charged for stays within its cap; the worst case of a request is reserved before it leaves and
 * settled once, by what the answer reported.
 */
export function checkBudget({ report }: CheckedRun): RunCheck {
  const accounts = new Map<Known | null, Account>();
  const spendings = new Map<Known, Spending>();

  function charge(delegation: Known, reserved: Amount, settled: Amount, seq: number): void {
    for (const owner of [...withAncestors(delegation), null]) {
      const account = accounts.get(owner);
      if (account === undefined) continue;
      account.reserved += reserved.tokens;
      account.reservedCost += reserved.cost;
      account.settled += settled.tokens;
      account.cost += settled.cost;
      const problem = account.isOverdrawn ? undefined : overdraftOf(account);
      if (problem === undefined) continue;
      account.isOverdrawn = true;
      report("I12", problem, { ...(owner && { delegationId: owner.id }), seq });
    }
  }

  return {
    see(event, delegation) {
      if (event.type === "run.started") {
        accounts.set(null, openAccount(event.payload.budget.tokens, unlimited));
      }
      if (delegation === undefined) return;
      if (event.type === "agent.subagent_created") {
        const [tokens, cost] = capsOf(delegation);
        accounts.set(delegation, openAccount(tokens, cost));
        const all = accounts.get(null);
        // What the root may cost is for the whole run.
        if (all !== undefined && spendings.size === 0)
          accounts.set(null, { ...all, costCap: cost });
        spendings.set(delegation, { requests: 0, open: null });
      }
      const spending = spendings.get(delegation);
      if (spending === undefined) return;
      const problem = follow(event, spending, (reserved, settled) =>
        charge(delegation, reserved, settled, event.seq),
      );
      if (problem) report("I12", problem, { delegationId: delegation.id, seq: event.seq });
    },
  };
}

const unlimited = Number.POSITIVE_INFINITY;

/** Without prices in its contract nothing was reserved in dollars, and they could be exceeded. */
function capsOf({ contract }: Known): [tokens: number, cost: number] {
  const { budget, model } = contract ?? {};
  const cost = model?.prices === undefined ? null : budget?.cost;
  return [budget?.tokens ?? unlimited, cost ?? unlimited];
}

function openAccount(cap: number, costCap: number): Account {
  const nothing = { settled: 0, reserved: 0, cost: 0, reservedCost: 0 };
  return { cap, costCap, ...nothing, isOverdrawn: false };
}

function overdraftOf({
  cap,
  cost,
  costCap,
  reserved,
  reservedCost,
  settled,
}: Account): string | undefined {
  if (settled + reserved > cap) {
    return `${settled} tokens spent and ${reserved} reserved exceed ${cap}.`;
  }
  // The last digits of a sum are not exact.
  if (cost + reservedCost <= costCap + 1e-6) return undefined;
  return `$${cost} spent and $${reservedCost} reserved exceed $${costCap}.`;
}

function follow(
  event: StoredEvent,
  spending: Spending,
  charge: (reserved: Amount, settled: Amount) => void,
): string | undefined {
  const { open } = spending;
  switch (event.type) {
    case "agent.budget_reserved": {
      const { cost = 0, request, tokens } = event.payload;
      const isNext = request === spending.requests + 1;
      spending.requests = request;
      spending.open = { reserved: { tokens, cost }, turn: null };
      charge(spending.open.reserved, { tokens: 0, cost: 0 });
      if (open !== null) return `Request ${request} is reserved before the one before is settled.`;
      return isNext ? undefined : `Request ${request} does not follow the one before.`;
    }
    case "agent.model_turn": {
      if (open === null) return "A model answered, and nothing was reserved for it.";
      if (open.turn !== null) return "A model answered twice to one request.";
      open.turn = event.payload.usage;
      return undefined;
    }
    case "agent.budget_settled": {
      const { request, reserved, prompt, completion, cost } = event.payload;
      if (open === null || request !== spending.requests) {
        return `Request ${request} is settled, and is not under way.`;
      }
      spending.open = null;
      if (Math.min(prompt, completion, cost) < 0) return `Request ${request} gives something back.`;
      const { reserved: held, turn } = open;
      charge({ tokens: -held.tokens, cost: -held.cost }, { tokens: prompt + completion, cost });
      if (reserved !== held.tokens) return `Request ${request} had reserved ${held.tokens} tokens.`;
      if (turn === null) return undefined;
      const isReported =
        turn.prompt === prompt && turn.completion === completion && turn.cost === cost;
      return isReported ? undefined : `Request ${request} is not settled by what was reported.`;
    }
    case "agent.subagent_closed":
      return open === null ? undefined : "It closes with a request that is not settled.";
    default:
      return undefined;
  }
}
