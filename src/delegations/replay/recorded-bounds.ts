import { type Contract, modelName } from "../../contracts/contract.ts";
import { dearestRates } from "../../contracts/token-price.ts";
import type { Delegation } from "../../events/delegation.ts";
import type { StoredEvent } from "../../events/event.ts";
import { apply, create } from "../../events/lifecycle.ts";
import { billionths, billionthsFor } from "../../ports/dollars.ts";
import { Transcript } from "../../sessions/transcript.ts";
import {
  type Amount,
  Budget,
  type Held,
  planTurn,
  promptBound,
  type TurnBounds,
} from "../budget.ts";
import type { RecordedDelegation, Recording } from "./recording.ts";

/** The bounds of the recorded prompts. They do not follow from today's prompt texts. */
export interface RecordedBounds {
  /** The tokens of the tool descriptions of each delegation. */
  readonly toolTokens: ReadonlyMap<string, number>;
  /** The bound of one prompt; undefined: no bound explains the recorded reservation. */
  promptOf(delegationId: string, request: number): number | undefined;
}

export function recordedBounds(recording: Recording): RecordedBounds {
  const requests = requestsIn(recording);
  const prompts = new Map(requests.map((each) => [keyOf(each), promptBehind(each)]));
  return {
    toolTokens: toolTokensIn(requests.filter(({ request }) => request === 1)),
    promptOf: (delegationId, request) => prompts.get(`${delegationId} ${request}`),
  };
}

function keyOf({ delegation, request }: Request): string {
  return `${delegation.id} ${request}`;
}

/** The recorded bound. Earlier versions did not record it; then it is inferred from the reservation. */
function promptBehind(request: Request): number | undefined {
  const { prompt } = request.reserved;
  return prompt ?? possiblePrompts(request).find((each) => explains(request, each));
}

/**
 * The tokens of each delegation's tool descriptions. The descriptions are not in the log; their size is
 * inferred from the reservations of first requests. Where a short budget allows several sizes, the one
 * that explains most reservations is taken.
 */
function toolTokensIn(requests: readonly Request[]): ReadonlyMap<string, number> {
  const tokens = new Map<string, number>();
  for (const alike of Map.groupBy(requests, toolsOf).values()) {
    const least = new Map(alike.map((each) => [each, withoutTools(each.delegation)]));
    const leastOf = (request: Request): number => least.get(request) ?? 0;
    const sizes = new Set(alike.flatMap((each) => possibleSizes(each, leastOf(each))));
    const explained = (size: number): number =>
      alike.filter((request) => explains(request, leastOf(request) + size)).length;
    const [best = 0] = [...sizes].sort((one, other) => explained(other) - explained(one));
    for (const { delegation } of alike) tokens.set(delegation.id, best);
  }
  return tokens;
}

interface Request {
  readonly delegation: RecordedDelegation;
  readonly request: number;
  readonly reserved: Held;
  /** The inputs of `planTurn`, apart from the prompt. */
  readonly bounds: Omit<TurnBounds, "prompt">;
}

/** Delegations with the same tools and servers were shown the same descriptions. */
function toolsOf({ delegation }: Request): string {
  const { allowed_tools: tools, mcp_servers: servers } = delegation.contract.permissions;
  return JSON.stringify([tools, servers]);
}

function possibleSizes(request: Request, least: number): readonly number[] {
  const { prompt } = request.reserved;
  const prompts = prompt === undefined ? possiblePrompts(request) : [prompt];
  return prompts.map((each) => each - least).filter((size) => size >= 0);
}

/** A request reserves its whole output, or less, so that tokens or dollars for a last turn remain. */
function possiblePrompts({ bounds, reserved }: Request): readonly number[] {
  const { available, keepBack, maxOutput, price } = bounds;
  const { tokens } = reserved;
  const prompts = [tokens - maxOutput, available.tokens - keepBack - tokens];
  if (price !== undefined) {
    const rates = [0, Number.POSITIVE_INFINITY].map((length) => dearestRates(price, length));
    prompts.push(...rates.map((each) => promptIn(reserved, each)));
  }
  return prompts.filter((prompt) => prompt >= 0);
}

/**
 * How many prompt tokens a reservation was for, computed from its tokens and its cost. Negative
 * where the two rates are equal: then the cost says nothing.
 */
function promptIn({ cost, tokens }: Amount, rates: ReturnType<typeof dearestRates>): number {
  const { input, output } = rates;
  if (input === output) return -1;
  return Math.round((billionthsFor(tokens, output) - cost) / billionthsFor(1, output - input));
}

/** Whether a prompt of this size leads to the recorded reservation, in tokens and in cost. */
function explains({ bounds, reserved }: Request, prompt: number): boolean {
  const plan = planTurn({ ...bounds, prompt });
  if (!("reserve" in plan)) return false;
  return plan.reserve.tokens === reserved.tokens && plan.reserve.cost === reserved.cost;
}

/** All reservations, each with the budget of its delegation at that moment. */
function requestsIn(recording: Recording): readonly Request[] {
  const run = new Budget(null, recording.started.budget.tokens);
  const budgets = new Map<string, Budget>();
  const states = new Map<string, Delegation>();
  const found: Request[] = [];
  for (const event of recording.events) {
    const { sub_agent_id: id = "" } = event;
    const delegation = recording.delegations.get(id);
    if (delegation === undefined) continue;
    const { contract } = delegation;
    const above = budgets.get(delegation.parentId ?? "") ?? run;
    const budget =
      budgets.get(id) ?? new Budget(above, contract.budget.tokens, contract.budget.cost);
    // The root's cost cap is that of the whole run.
    if (budgets.size === 0) run.cost = budget.cost;
    budgets.set(id, budget);
    if (event.type === "agent.budget_reserved") {
      const { cost = 0, prompt, request, tokens } = event.payload;
      const reserved = { tokens, cost: billionths(cost), ...(prompt !== undefined && { prompt }) };
      found.push({ delegation, request, reserved, bounds: boundsOf(contract, budget) });
    }
    const before = states.get(id) ?? null;
    const after = stateAfter(before, event);
    if (after === null) continue;
    budget.follow(after);
    states.set(id, after);
  }
  return found;
}

function stateAfter(before: Delegation | null, event: StoredEvent): Delegation | null {
  if (event.type === "agent.subagent_created") return create(event);
  return before && spending.has(event.type) ? apply(before, event) : null;
}

/** The events that change what a delegation has spent, or keeps back. */
const spending: ReadonlySet<string> = new Set([
  "agent.subagent_started",
  "agent.subagent_attempt",
  "agent.budget_reserved",
  "agent.budget_settled",
  "agent.budget_corrected",
  "agent.tool_started",
  "agent.tool_completed",
  "agent.tool_failed",
  "agent.tool_denied",
  "agent.tool_outcome_unknown",
  "agent.subagent_waiting_for_merge",
  "agent.subagent_failed",
]);

function boundsOf(contract: Contract, { available, unspent }: Budget): Request["bounds"] {
  const { budget, model } = contract;
  const price = model.prices?.[modelName(contract)];
  const maxOutput = model.max_output_tokens;
  return { available, unspent, maxOutput, keepBack: budget.reserve, price };
}

/** The bound of the first prompt without tool descriptions. */
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
