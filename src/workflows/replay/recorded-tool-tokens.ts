import { type Contract, modelName } from "../../contracts/contract.ts";
import { dearestRates } from "../../contracts/token-price.ts";
import { Account, type Amount, type Held, nothing } from "../../delegations/turns/ledger.ts";
import { planTurn, promptBound, type TurnBounds } from "../../delegations/turns/plan-turn.ts";
import type { StoredEvent, TokenUsage } from "../../events/event.ts";
import { billionths, billionthsFor } from "../../ports/dollars.ts";
import { Transcript } from "../../sessions/transcript.ts";
import type { RecordedDelegation, Recording } from "./recording.ts";

/**
 * How much the tools that each delegation's model was shown can cost in a prompt. The log does not
 * have their descriptions; what was reserved for first requests tells, once it is known what could
 * be. Where the budget was short several sizes would do: the one that explains most is taken.
 */
export function recordedToolTokens(recording: Recording): ReadonlyMap<string, number> {
  const tokens = new Map<string, number>();
  for (const alike of Map.groupBy(firstRequests(recording), toolsOf).values()) {
    const sizes = new Set(alike.flatMap(possibleSizes));
    const explained = (size: number): number =>
      alike.filter((request) => explains(request, size)).length;
    const [best = 0] = [...sizes].sort((one, other) => explained(other) - explained(one));
    for (const { delegation } of alike) tokens.set(delegation.id, best);
  }
  return tokens;
}

interface FirstRequest {
  readonly delegation: RecordedDelegation;
  readonly reserved: Held;
  /** What it could reserve, apart from the prompt. */
  readonly bounds: Omit<TurnBounds, "prompt">;
  /** The bound on its prompt, were there no tools. */
  readonly least: number;
}

/** Who may call the same tools is shown the same. */
function toolsOf({ delegation }: FirstRequest): string {
  const { allowed_tools: tools, mcp_servers: servers } = delegation.contract.permissions;
  return JSON.stringify([tools, servers]);
}

/** All that the model can say was reserved, or as much as leaves room, or money, for a last turn. */
function possibleSizes({ bounds, least, reserved }: FirstRequest): readonly number[] {
  const { available, keepBack, maxOutput, price } = bounds;
  const { prompt, tokens } = reserved;
  if (prompt !== undefined) return prompt >= least ? [prompt - least] : [];
  const prompts = [tokens - maxOutput, available.tokens - keepBack - tokens];
  if (price !== undefined) {
    const rates = [0, Number.POSITIVE_INFINITY].map((length) => dearestRates(price, length));
    prompts.push(...rates.map((each) => promptIn(reserved, each)));
  }
  return prompts.map((prompt) => prompt - least).filter((size) => size >= 0);
}

/** So many tokens cost so much: the dearer ones were for the answer. */
function promptIn({ cost, tokens }: Amount, rates: ReturnType<typeof dearestRates>): number {
  const { input, output } = rates;
  if (input === output) return -1;
  return Math.round((billionthsFor(tokens, output) - cost) / billionthsFor(1, output - input));
}

/** Where tokens alone would fit several sizes, their cost tells prompt from answer. */
function explains({ bounds, least, reserved }: FirstRequest, size: number): boolean {
  const plan = planTurn({ ...bounds, prompt: least + size });
  if (!("reserve" in plan)) return false;
  return plan.reserve.tokens === reserved.tokens && plan.reserve.cost === reserved.cost;
}

/** Follows the accounts of everybody through the run, as the ledger kept them. */
function firstRequests(recording: Recording): readonly FirstRequest[] {
  const run = new Account(null, recording.started.budget.tokens);
  const accounts = new Map<string, Account>();
  const held = new Map<string, Held>();
  const found: FirstRequest[] = [];
  for (const { payload, sub_agent_id: id = "", type } of recording.events) {
    const delegation = recording.delegations.get(id);
    if (delegation === undefined) continue;
    const above = accounts.get(delegation.parentId ?? "") ?? run;
    const account = accounts.get(id) ?? accountOf(delegation.contract, above);
    // What the root may cost is for the whole run.
    if (accounts.size === 0) run.costCap = account.costCap;
    accounts.set(id, account);
    if (type === "agent.budget_reserved") {
      const { cost = 0, prompt, request, tokens } = payload;
      const reserved = { tokens, cost: billionths(cost), ...(prompt !== undefined && { prompt }) };
      if (request === 1) found.push(firstRequest(delegation, reserved, account));
      held.set(id, reserved);
      account.restoreReservation(reserved);
    } else if (type === "agent.budget_settled") {
      account.settle(held.get(id) ?? nothing, amountOf(payload));
      account.isOverrun ||= payload.overrun === true;
      held.delete(id);
    } else if (type === "agent.budget_corrected") {
      const [now, before] = [amountOf(payload), amountOf(payload.replaces)];
      const more = { tokens: now.tokens - before.tokens, cost: now.cost - before.cost };
      account.settle(nothing, more);
      account.isOverrun ||= payload.overrun === true;
    }
  }
  return found;
}

function amountOf({ completion, cost, prompt }: TokenUsage): Amount {
  return { tokens: prompt + completion, cost: billionths(cost) };
}

function accountOf({ budget }: Contract, above: Account): Account {
  return new Account(above, budget.tokens, budget.cost);
}

function firstRequest(
  delegation: RecordedDelegation,
  reserved: Held,
  { available, unspent }: Account,
): FirstRequest {
  const { budget, model } = delegation.contract;
  const maxOutput = model.max_output_tokens;
  const price = model.prices?.[modelName(delegation.contract)];
  const bounds = { available, unspent, maxOutput, keepBack: budget.reserve, price };
  return { delegation, reserved, bounds, least: withoutTools(delegation) };
}

function withoutTools({ events, opening, system }: RecordedDelegation): number {
  const transcript = new Transcript(opening);
  for (const event of events.slice(0, firstIn(events))) transcript.apply(event);
  return promptBound({
    counted: null,
    bytesSince: transcript.bytesSince,
    systemBytes: Buffer.byteLength(system),
    toolTokens: 0,
  });
}

function firstIn(events: readonly StoredEvent[]): number {
  return events.findIndex(({ type }) => type === "agent.budget_reserved");
}
