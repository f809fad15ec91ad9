import type { CloseReason } from "../close-reason.ts";
import type { EventPayloads, StoredEvent, TokenUsage } from "../event.ts";
import { type CheckedRun, type Known, type RunCheck, withAncestors } from "./checked-run.ts";

interface Account {
  readonly cap: number;
  /** The cap of the delegation, in dollars. */
  readonly costCap: number;
  settled: number;
  reserved: number;
  cost: number;
  reservedCost: number;
  /** The sum by which marked overruns exceeded their reservations. */
  overrun: number;
  overrunCost: number;
  isOverdrawn: boolean;
}

interface Amount {
  readonly tokens: number;
  readonly cost: number;
}

interface Request {
  readonly reserved: EventPayloads["agent.budget_reserved"];
  /** The usage that the answer reported. */
  turn: TokenUsage | null;
}

interface Spending {
  requests: number;
  /** The requests under way, by number: more than one only of another program. */
  readonly open: Map<number, Request>;
  readonly isProgram: boolean;
  /** Requests that are settled as estimates and not corrected, by number. */
  readonly estimates: Map<
    number,
    { readonly reserved: Request["reserved"]; readonly used: TokenUsage }
  >;
  isOverrun: boolean;
}

/** The change that an event makes to the accounts of a delegation and its ancestors. */
interface Charge {
  readonly reserved: Amount;
  readonly settled: Amount;
  /** The amount by which a marked overrun exceeded its reservation. */
  readonly overrun?: Amount;
}

const nothing: Amount = { tokens: 0, cost: 0 };

/**
 * I12: at every event, for every delegation and the run, the sum of spent and reserved amounts of the
 * subtree is within its cap. The worst case of a request is reserved before it is sent, and settled
 * once. A marked overrun may exceed a cap by the amount over its reservation; after it nothing is
 * reserved there or below, and the delegation closes for its budget. An estimate is within its
 * reservation, and is corrected at most once, while its delegation is open.
 */
export function checkBudget({ report }: CheckedRun): RunCheck {
  const accounts = new Map<Known | null, Account>();
  const spendings = new Map<Known, Spending>();

  function charge(
    delegation: Known,
    { overrun = nothing, reserved, settled }: Charge,
    seq: number,
  ) {
    for (const owner of [...withAncestors(delegation), null]) {
      const account = accounts.get(owner);
      if (account === undefined) continue;
      account.reserved += reserved.tokens;
      account.reservedCost += reserved.cost;
      account.settled += settled.tokens;
      account.cost += settled.cost;
      account.overrun += overrun.tokens;
      account.overrunCost += overrun.cost;
      // Earlier overruns do not extend the cap for a new reservation.
      const isReservation = reserved.tokens > 0;
      const problem = account.isOverdrawn ? undefined : overdraftOf(account, !isReservation);
      if (problem === undefined) continue;
      account.isOverdrawn = true;
      report("I12", problem, { ...(owner && { delegationId: owner.id }), seq });
    }
  }

  function overrunAbove(delegation: Known): Known | undefined {
    return withAncestors(delegation).find((one) => spendings.get(one)?.isOverrun);
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
        // The root's cost cap is that of the run.
        if (all !== undefined && spendings.size === 0)
          accounts.set(null, { ...all, costCap: cost });
        const estimates: Spending["estimates"] = new Map();
        const isProgram =
          delegation.created.client !== undefined || delegation.contract?.runner !== undefined;
        const open: Spending["open"] = new Map();
        spendings.set(delegation, { requests: 0, open, isProgram, estimates, isOverrun: false });
      }
      const spending = spendings.get(delegation);
      if (spending === undefined) return;
      const tell = (problem: string | undefined): void => {
        if (problem) report("I12", problem, { delegationId: delegation.id, seq: event.seq });
      };
      if (event.type === "agent.budget_reserved") {
        const above = overrunAbove(delegation);
        if (above)
          tell(`Request ${event.payload.request} is reserved after an overrun of ${above.id}.`);
      }
      tell(follow(event, spending, (each) => charge(delegation, each, event.seq)));
    },
  };
}

const unlimited = Number.POSITIVE_INFINITY;

/** Without prices in the contract no dollars were reserved, so its cost cap was not enforced. */
function capsOf({ contract }: Known): [tokens: number, cost: number] {
  const { budget, model } = contract ?? {};
  const cost = model?.prices === undefined ? null : budget?.cost;
  return [budget?.tokens ?? unlimited, cost ?? unlimited];
}

function openAccount(cap: number, costCap: number): Account {
  const amounts = { settled: 0, reserved: 0, cost: 0, reservedCost: 0, overrun: 0, overrunCost: 0 };
  return { cap, costCap, ...amounts, isOverdrawn: false };
}

function overdraftOf(account: Account, withOverruns: boolean): string | undefined {
  const { cap, cost, costCap, reserved, reservedCost, settled } = account;
  const [tokens, dollars] = withOverruns ? [account.overrun, account.overrunCost] : [0, 0];
  if (settled + reserved > cap + tokens) {
    return `${settled} tokens spent and ${reserved} reserved exceed ${cap}.`;
  }
  // The last digits of a sum are not exact.
  if (cost + reservedCost <= costCap + dollars + 1e-6) return undefined;
  return `$${cost} spent and $${reservedCost} reserved exceed $${costCap}.`;
}

function follow(
  event: StoredEvent,
  spending: Spending,
  charge: (each: Charge) => void,
): string | undefined {
  const { open } = spending;
  switch (event.type) {
    case "agent.budget_reserved": {
      const { cost = 0, prompt = 0, request, tokens } = event.payload;
      const isNext = request === spending.requests + 1;
      spending.requests = request;
      const isFirst = open.size === 0;
      open.set(request, { reserved: event.payload, turn: null });
      charge({ reserved: { tokens, cost }, settled: nothing });
      if (!isFirst && !spending.isProgram)
        return `Request ${request} is reserved before the previous one is settled.`;
      if (prompt > tokens) return `Request ${request} reserves less than the bound of its prompt.`;
      return isNext ? undefined : `Request ${request} does not follow the previous one.`;
    }
    case "agent.model_turn": {
      const answered = open.get(event.payload.request ?? spending.requests);
      if (answered === undefined) return "A model answered without a reservation.";
      if (answered.turn !== null) return "A model answered twice to one request.";
      answered.turn = event.payload.usage;
      return undefined;
    }
    case "agent.budget_settled":
      return settle(event.payload, spending, charge);
    case "agent.budget_corrected":
      return correct(event.payload, spending, charge);
    case "agent.subagent_closed":
      if (open.size > 0) return "It closes with an unsettled request.";
      return spending.isOverrun ? endProblem(event.payload.close_reason) : undefined;
    default:
      return undefined;
  }
}

function settle(
  payload: EventPayloads["agent.budget_settled"],
  spending: Spending,
  charge: (each: Charge) => void,
): string | undefined {
  const { completion, cost, estimated, overrun, prompt, request } = payload;
  const open = spending.open.get(request);
  if (open === undefined) return `Request ${request} is settled, but is not under way.`;
  spending.open.delete(request);
  if (Math.min(prompt, completion, cost) < 0) return `Request ${request} gives something back.`;
  const { reserved, turn } = open;
  const used = { tokens: prompt + completion, cost };
  if (estimated) spending.estimates.set(request, { reserved, used: { prompt, completion, cost } });
  spending.isOverrun ||= overrun === true;
  charge({
    reserved: { tokens: -reserved.tokens, cost: -(reserved.cost ?? 0) },
    settled: used,
    ...(overrun && { overrun: beyond(used, reserved) }),
  });
  if (payload.reserved !== reserved.tokens) {
    return `Request ${request} had reserved ${reserved.tokens} tokens.`;
  }
  const problem = amountProblem(request, used, reserved, payload);
  if (problem !== undefined || turn === null) return problem;
  const isReported = turn.prompt === prompt && turn.completion === completion && turn.cost === cost;
  return isReported ? undefined : `Request ${request} is not settled by the reported usage.`;
}

function correct(
  payload: EventPayloads["agent.budget_corrected"],
  spending: Spending,
  charge: (each: Charge) => void,
): string | undefined {
  const { completion, cost, overrun, prompt, replaces, request } = payload;
  const estimate = spending.estimates.get(request);
  if (estimate === undefined)
    return `Request ${request} is corrected, but is not an open estimate.`;
  spending.estimates.delete(request);
  const { reserved, used: before } = estimate;
  const isSame =
    replaces.prompt === before.prompt &&
    replaces.completion === before.completion &&
    replaces.cost === before.cost;
  if (!isSame) return `Request ${request} is corrected from other amounts than it was settled as.`;
  if (Math.min(prompt, completion, cost) < 0) return `Request ${request} gives something back.`;
  const used = { tokens: prompt + completion, cost };
  spending.isOverrun ||= overrun === true;
  charge({
    reserved: nothing,
    settled: {
      tokens: used.tokens - before.prompt - before.completion,
      cost: cost - before.cost,
    },
    ...(overrun && { overrun: beyond(used, reserved) }),
  });
  return amountProblem(request, used, reserved, payload);
}

/** The part of an amount that exceeds its reservation. */
function beyond({ cost, tokens }: Amount, reserved: Request["reserved"]): Amount {
  return {
    tokens: Math.max(0, tokens - reserved.tokens),
    cost: reserved.cost === undefined ? 0 : Math.max(0, cost - reserved.cost),
  };
}

/**
 * Every overrun is marked, nothing else is, and an estimate is never an overrun. Earlier versions did not
 * record the prompt's bound, and did not mark overruns.
 */
function amountProblem(
  request: number,
  used: Amount,
  reserved: Request["reserved"],
  { estimated, overrun }: Partial<EventPayloads["agent.budget_settled"]>,
): string | undefined {
  const { cost, tokens } = beyond(used, reserved);
  // The last digits of a sum are not exact.
  const isBeyond = tokens > 0 || cost > 1e-9;
  if (isBeyond && estimated) return `Request ${request} is estimated at more than it had reserved.`;
  if (isBeyond && !overrun && reserved.prompt !== undefined) {
    return `Request ${request} used more than it had reserved, but is not marked as an overrun.`;
  }
  return overrun && !isBeyond
    ? `Request ${request} is marked as an overrun, but is none.`
    : undefined;
}

/** Close reasons that can win over an overrun: ends from outside, or from the delegation's changes. */
const otherEnds: ReadonlySet<CloseReason> = new Set([
  ...(["cancelled", "timeout", "worker_lost", "parent_crash", "storage_full"] as const),
  ...(["parent_closed", "policy_denied", "model_mismatch"] as const),
  ...(["merge_conflict", "merge_interrupted", "ownership_violation"] as const),
]);

function endProblem(reason: CloseReason): string | undefined {
  if (reason === "budget_exhausted" || otherEnds.has(reason)) return undefined;
  return `It closes for ${reason} after an overrun, instead of for its budget.`;
}
