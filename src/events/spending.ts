import { billionths, wholeBillionths } from "../ports/dollars.ts";
import { MandateError } from "../ports/mandate-error.ts";
import type { Delegation } from "./delegation.ts";
import type { EventPayloads, StoredEvent } from "./event.ts";
import type { RunState } from "./run-state.ts";

/** What a delegation and its descendants have spent, reserved and kept back, with the caps. */
export interface Spending extends Readonly<Amounts> {
  readonly cap: number;
  /** In billionths of a dollar, like all costs here. */
  readonly costCap: number;
  /** A provider reported more than was reserved: no further reservation here or below. */
  readonly isOverrun: boolean;
}

/** The sums of each subtree, by its root; null: the run. */
export type SpendingTotals = Map<string | null, Amounts>;

export interface Amounts {
  settled: number;
  reserved: number;
  /** Kept back by parents, to read results of children and to answer. */
  kept: number;
  cost: number;
  reservedCost: number;
  keptCost: number;
}

export const noAmounts: Readonly<Amounts> = Object.freeze({
  settled: 0,
  reserved: 0,
  kept: 0,
  cost: 0,
  reservedCost: 0,
  keptCost: 0,
});

/** The difference between two sums; undefined: they are equal. */
export function differenceOf(before: Readonly<Amounts>, after: Readonly<Amounts>) {
  const difference: Amounts = {
    settled: after.settled - before.settled,
    reserved: after.reserved - before.reserved,
    kept: after.kept - before.kept,
    cost: after.cost - before.cost,
    reservedCost: after.reservedCost - before.reservedCost,
    keptCost: after.keptCost - before.keptCost,
  };
  const { cost, kept, keptCost, reserved, reservedCost, settled } = difference;
  const isNothing =
    settled === 0 && reserved === 0 && kept === 0 && cost === 0 && reservedCost === 0;
  return isNothing && keptCost === 0 ? undefined : difference;
}

export function addTo(sum: Amounts, difference: Readonly<Amounts>): void {
  sum.settled += difference.settled;
  sum.reserved += difference.reserved;
  sum.kept += difference.kept;
  sum.cost += difference.cost;
  sum.reservedCost += difference.reservedCost;
  sum.keptCost += difference.keptCost;
}

/** The budgets that pay for a delegation's requests: its own, those of its ancestors, and the run's. */
export function* spendingAbove(
  run: RunState,
  id: string | null,
): Generator<Spending & { readonly id: string | null }> {
  run.totals ??= totalsOf(run);
  for (let one = at(run, id); one !== undefined; one = at(run, one.parentId)) {
    const { tokens: cap = unlimited } = one.share ?? {};
    const isOverrun = one.overrun === true;
    const amounts = run.totals.get(one.id) ?? noAmounts;
    yield { id: one.id, cap, costCap: costCapOf(one), isOverrun, ...amounts };
  }
  // The root's cost cap is that of the run: watchers have no caller.
  const [root] = run.delegations.values();
  const all = run.totals.get(null) ?? noAmounts;
  yield { id: null, cap: run.budgetTokens, costCap: costCapOf(root), isOverrun: false, ...all };
}

function costCapOf(delegation: Delegation | undefined): number {
  const { cost } = delegation?.share ?? {};
  return cost === undefined ? unlimited : wholeBillionths(cost);
}

const unlimited = Number.POSITIVE_INFINITY;
function totalsOf(run: RunState): SpendingTotals {
  const totals: SpendingTotals = new Map();
  for (const delegation of run.delegations.values()) add(run, totals, delegation, noAmounts);
  return totals;
}

/** Adds the change of a delegation to the sums of its ancestors, where sums are kept. */
export function followSpending(
  run: RunState,
  before: Delegation | undefined,
  after: Delegation,
): void {
  if (run.totals !== undefined) add(run, run.totals, after, before ? ownOf(before) : noAmounts);
}

/** Takes a change back; `before`: the delegation as it was, undefined where it did not exist. */
export function undoSpending(
  run: RunState,
  now: Delegation | undefined,
  before: Delegation | undefined,
): void {
  if (run.totals === undefined || now === undefined) return;
  add(run, run.totals, now, ownOf(now), before ? ownOf(before) : noAmounts);
}

function add(
  run: RunState,
  totals: SpendingTotals,
  delegation: Delegation,
  before: Readonly<Amounts>,
  after = ownOf(delegation),
): void {
  const difference = differenceOf(before, after);
  if (difference === undefined) return;
  const grow = (id: string | null): void => {
    const known = totals.get(id);
    if (known === undefined) totals.set(id, { ...difference });
    else addTo(known, difference);
  };
  for (let one: Delegation | undefined = delegation; one; one = at(run, one.parentId)) grow(one.id);
  grow(null);
}

/** What one delegation has spent, reserved and kept back itself. */
export function ownOf(delegation: Delegation): Amounts {
  const { usage } = delegation;
  const isRunning = delegation.status === "running";
  const held = isRunning ? reservedBy(delegation) : noneReserved;
  const keeps = isRunning ? delegation.keeps : undefined;
  return {
    settled: usage.prompt + usage.completion,
    reserved: held.tokens,
    kept: keeps?.tokens ?? 0,
    cost: billionths(usage.cost),
    reservedCost: held.cost,
    keptCost: billionths(keeps?.cost ?? 0),
  };
}

interface Reserved {
  readonly tokens: number;
  readonly cost: number;
}

const noneReserved: Reserved = Object.freeze({ tokens: 0, cost: 0 });

function reservedBy({ reservations }: Running): Reserved {
  if (reservations.length === 0) return noneReserved;
  let tokens = 0;
  let cost = 0;
  for (const one of reservations) {
    tokens += one.tokens;
    cost += billionths(one.cost ?? 0);
  }
  return { tokens, cost };
}

function at(run: RunState, id: string | null): Delegation | undefined {
  return id === null ? undefined : run.delegations.get(id);
}

/** Throws when a reservation exceeds what the delegation, an ancestor or the run has left. */
export function requireFunds(
  run: RunState,
  { payload, sub_agent_id }: StoredEvent<"agent.budget_reserved">,
): void {
  const id = sub_agent_id ?? null;
  const { cost, tokens } = payload;
  // The delegation may spend what it kept back itself.
  const delegation = at(run, id);
  const own = delegation === undefined ? noAmounts : ownOf(delegation);
  for (const one of spendingAbove(run, id)) {
    if (one.isOverrun) {
      throw new MandateError(
        "illegal-transition",
        `Delegation ${id} cannot reserve ${tokens} tokens: in ${one.id} a provider reported more than was reserved.`,
      );
    }
    const isLeft = tokens <= one.cap - one.settled - one.reserved - one.kept + own.kept;
    const dollars = one.costCap - one.cost - one.reservedCost - one.keptCost + own.keptCost;
    if (isLeft && (cost === undefined || billionths(cost) <= dollars)) continue;
    const what = isLeft ? `$${cost}` : `${tokens} tokens`;
    throw new MandateError(
      "illegal-transition",
      `Delegation ${id} cannot reserve ${what}: another request was faster.`,
    );
  }
}

type Running = Extract<Delegation, { status: "running" }>;

/** A new request may spend what was kept back. Its event tells what is kept back from then on. */
export function withoutKeeps(delegation: Running): Running {
  if (delegation.keeps === undefined) return delegation;
  const { keeps: _, ...others } = delegation;
  return others;
}

/** Other outputs of the same turn make the next prompt longer. */
export function withGrownKeeps(delegation: Running, output: string): Running {
  const { keeps } = delegation;
  if (keeps === undefined) return delegation;
  const tokens = keeps.tokens + bytesOf(output);
  const { cost } = keeps;
  const grown = { ...keeps, tokens };
  if (cost === undefined) return { ...delegation, keeps: grown };
  return { ...delegation, keeps: { ...grown, cost: (cost / keeps.tokens) * tokens } };
}

/** Without `Buffer`, because the fold also runs in browsers. */
function bytesOf(text: string): number {
  return encoder.encode(text).length;
}

const encoder = new TextEncoder();

type Spent = Pick<Delegation, "estimates" | "overrun" | "usage">;

export function settle(
  delegation: Running,
  { completion, cost, estimated, overrun, prompt, request }: EventPayloads["agent.budget_settled"],
  lastEventAt: number,
): Running {
  const { estimates = 0, reservations, usage } = delegation;
  const reservation = reservations.find((one) => one.request === request);
  // Earlier versions settled without a bound of the prompt, and marked nothing as an estimate.
  const isEstimate = estimated === true && reservation?.prompt !== undefined;
  const open = estimates + (isEstimate ? 1 : 0);
  const used = {
    prompt: usage.prompt + prompt,
    completion: usage.completion + completion,
    cost: usage.cost + cost,
  };
  const settled = {
    ...delegation,
    reservations: reservations.filter((one) => one !== reservation),
    usage: used,
    lastEventAt,
  };
  if (open === 0 && overrun === undefined) return settled;
  return {
    ...settled,
    ...(open > 0 && { usage: { ...used, estimated: true }, estimates: open }),
    ...(overrun && { overrun }),
  };
}

export function correct(
  { estimates = 0, usage }: Delegation,
  { completion, cost, overrun, prompt, replaces }: EventPayloads["agent.budget_corrected"],
): Spent {
  const open = Math.max(0, estimates - 1);
  return {
    usage: {
      prompt: usage.prompt + prompt - replaces.prompt,
      completion: usage.completion + completion - replaces.completion,
      cost: usage.cost + cost - replaces.cost,
      ...(open > 0 && { estimated: true }),
    },
    estimates: open,
    ...(overrun && { overrun }),
  };
}
