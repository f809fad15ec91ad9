import type { StoredEvent, TokenUsage } from "../event.ts";
import { type CheckedRun, type Known, type RunCheck, withAncestors } from "./checked-run.ts";

interface Account {
  readonly cap: number;
  settled: number;
  reserved: number;
  isOverdrawn: boolean;
}

interface Spending {
  requests: number;
  /** The request under way, and what its answer says that it cost. */
  open: { readonly tokens: number; turn: TokenUsage | null } | null;
}

/**
 * I12: at every moment, for every agent and the run, what its subtree has spent and may still be
 * charged for stays within its cap; the worst case of a request is reserved before it leaves and
 * settled once, by what the answer reported.
 */
export function checkBudget({ report }: CheckedRun): RunCheck {
  const accounts = new Map<Known | null, Account>();
  const spendings = new Map<Known, Spending>();

  function charge(delegation: Known, reserved: number, settled: number, seq: number): void {
    for (const owner of [...withAncestors(delegation), null]) {
      const account = accounts.get(owner);
      if (account === undefined) continue;
      account.reserved += reserved;
      account.settled += settled;
      if (account.reserved + account.settled <= account.cap || account.isOverdrawn) continue;
      account.isOverdrawn = true;
      const { cap } = account;
      const message = `${account.settled} tokens spent and ${account.reserved} reserved exceed ${cap}.`;
      report("I12", message, { ...(owner && { delegationId: owner.id }), seq });
    }
  }

  return {
    see(event, delegation) {
      if (event.type === "run.started") {
        accounts.set(null, openAccount(event.payload.budget.tokens));
      }
      if (delegation === undefined) return;
      if (event.type === "agent.subagent_created") {
        const { contract } = delegation;
        accounts.set(delegation, openAccount(contract?.budget.tokens ?? Number.POSITIVE_INFINITY));
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

function openAccount(cap: number): Account {
  return { cap, settled: 0, reserved: 0, isOverdrawn: false };
}

function follow(
  event: StoredEvent,
  spending: Spending,
  charge: (reserved: number, settled: number) => void,
): string | undefined {
  const { open } = spending;
  switch (event.type) {
    case "agent.budget_reserved": {
      const { request, tokens } = event.payload;
      const isNext = request === spending.requests + 1;
      spending.requests = request;
      spending.open = { tokens, turn: null };
      charge(tokens, 0);
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
      const { request, reserved, prompt, completion } = event.payload;
      if (open === null || request !== spending.requests) {
        return `Request ${request} is settled, and is not under way.`;
      }
      spending.open = null;
      charge(-open.tokens, prompt + completion);
      if (reserved !== open.tokens) return `Request ${request} had reserved ${open.tokens} tokens.`;
      if (open.turn === null) return undefined;
      const isReported = open.turn.prompt === prompt && open.turn.completion === completion;
      return isReported ? undefined : `Request ${request} is not settled by what was reported.`;
    }
    case "agent.subagent_closed":
      return open === null ? undefined : "It closes with a request that is not settled.";
    default:
      return undefined;
  }
}
