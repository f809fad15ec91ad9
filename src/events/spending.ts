import { billionths, wholeBillionths } from "../ports/dollars.ts";
import { MandateError } from "../ports/mandate-error.ts";
import type { Delegation } from "./delegation.ts";
import type { StoredEvent } from "./event.ts";
import type { RunState } from "./run-state.ts";

/** What one delegation and all below it have used, and hold back for requests that are under way. */
export interface Spending extends Readonly<Amounts> {
  readonly cap: number;
  /** In billionths of a dollar, as are what its tokens have cost and what is held back of it. */
  readonly costCap: number;
  /** A provider reported more than was reserved: nothing more is reserved there or below. */
  readonly isOverrun: boolean;
}

/** The same of a whole subtree; null stands for the run. */
export type SpendingTotals = Map<string | null, Amounts>;

export interface Amounts {
  settled: number;
  reserved: number;
  /** By parents, to read the results of their children and to answer. */
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

/** What lies between two sums of the same accounts; undefined: nothing. */
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

/** From a delegation up to the run: everybody whose budget its requests are paid from. */
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
  // What its root may cost is for all of it: a watcher is below no caller.
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

/** A delegation was replaced: who is above it has spent the difference. Only where totals are kept. */
export function followSpending(
  run: RunState,
  before: Delegation | undefined,
  after: Delegation,
): void {
  if (run.totals !== undefined) add(run, run.totals, after, before ? ownOf(before) : noAmounts);
}

function add(
  run: RunState,
  totals: SpendingTotals,
  delegation: Delegation,
  before: Readonly<Amounts>,
): void {
  const difference = differenceOf(before, ownOf(delegation));
  if (difference === undefined) return;
  const grow = (id: string | null): void => {
    const known = totals.get(id);
    if (known === undefined) totals.set(id, { ...difference });
    else addTo(known, difference);
  };
  for (let one: Delegation | undefined = delegation; one; one = at(run, one.parentId)) grow(one.id);
  grow(null);
}

/** What one delegation has used by itself, and holds back. */
export function ownOf(delegation: Delegation): Amounts {
  const { usage } = delegation;
  const isRunning = delegation.status === "running";
  const held = isRunning ? delegation.reservation : null;
  const keeps = isRunning ? delegation.keeps : undefined;
  return {
    settled: usage.prompt + usage.completion,
    reserved: held?.tokens ?? 0,
    kept: keeps?.tokens ?? 0,
    cost: billionths(usage.cost),
    reservedCost: billionths(held?.cost ?? 0),
    keptCost: billionths(keeps?.cost ?? 0),
  };
}

function at(run: RunState, id: string | null): Delegation | undefined {
  return id === null ? undefined : run.delegations.get(id);
}

/** Throws when the delegation or an ancestor does not have what a request may cost at most. */
export function requireFunds(
  run: RunState,
  { payload, sub_agent_id }: StoredEvent<"agent.budget_reserved">,
): void {
  const id = sub_agent_id ?? null;
  const { cost, tokens } = payload;
  // What it kept back itself is for this request.
  const delegation = at(run, id);
  const own = delegation === undefined ? noAmounts : ownOf(delegation);
  for (const one of spendingAbove(run, id)) {
    if (one.isOverrun) {
      throw new MandateError(
        "illegal-transition",
        `Delegation ${id} cannot hold back ${tokens} tokens: a provider reported more than was reserved in ${one.id}.`,
      );
    }
    const isLeft = tokens <= one.cap - one.settled - one.reserved - one.kept + own.kept;
    const dollars = one.costCap - one.cost - one.reservedCost - one.keptCost + own.keptCost;
    if (isLeft && (cost === undefined || billionths(cost) <= dollars)) continue;
    const what = isLeft ? `$${cost}` : `${tokens} tokens`;
    throw new MandateError(
      "illegal-transition",
      `Delegation ${id} cannot hold back ${what}: another request was faster.`,
    );
  }
}
