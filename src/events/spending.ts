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
  cost: number;
  reservedCost: number;
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
    const amounts = run.totals.get(one.id) ?? nothing;
    yield { id: one.id, cap, costCap: costCapOf(one), isOverrun, ...amounts };
  }
  // What its root may cost is for all of it: who looks on is below nobody.
  const [root] = run.delegations.values();
  const all = run.totals.get(null) ?? nothing;
  yield { id: null, cap: run.budgetTokens, costCap: costCapOf(root), isOverrun: false, ...all };
}

function costCapOf(delegation: Delegation | undefined): number {
  const { cost } = delegation?.share ?? {};
  return cost === undefined ? unlimited : wholeBillionths(cost);
}

const unlimited = Number.POSITIVE_INFINITY;
const nothing: Readonly<Amounts> = Object.freeze({
  settled: 0,
  reserved: 0,
  cost: 0,
  reservedCost: 0,
});

function totalsOf(run: RunState): SpendingTotals {
  const totals: SpendingTotals = new Map();
  for (const delegation of run.delegations.values()) add(run, totals, delegation, nothing);
  return totals;
}

/** A delegation was replaced: who is above it has spent the difference. Only where totals are kept. */
export function followSpending(
  run: RunState,
  before: Delegation | undefined,
  after: Delegation,
): void {
  if (run.totals !== undefined) add(run, run.totals, after, before ? ownOf(before) : nothing);
}

function add(
  run: RunState,
  totals: SpendingTotals,
  delegation: Delegation,
  before: Readonly<Amounts>,
): void {
  const after = ownOf(delegation);
  const settled = after.settled - before.settled;
  const reserved = after.reserved - before.reserved;
  const cost = after.cost - before.cost;
  const reservedCost = after.reservedCost - before.reservedCost;
  if (settled === 0 && reserved === 0 && cost === 0 && reservedCost === 0) return;
  const grow = (id: string | null): void => {
    const known = totals.get(id);
    if (known === undefined) totals.set(id, { settled, reserved, cost, reservedCost });
    else {
      known.settled += settled;
      known.reserved += reserved;
      known.cost += cost;
      known.reservedCost += reservedCost;
    }
  };
  for (let one: Delegation | undefined = delegation; one; one = at(run, one.parentId)) grow(one.id);
  grow(null);
}

/** What one delegation has used by itself, and holds back. */
export function ownOf(delegation: Delegation): Amounts {
  const { usage } = delegation;
  const settled = usage.prompt + usage.completion;
  return { settled, cost: billionths(usage.cost), ...heldBackBy(delegation) };
}

/** What the request that a delegation has under way may cost at most. */
function heldBackBy(delegation: Delegation): Pick<Spending, "reserved" | "reservedCost"> {
  const held = delegation.status === "running" ? delegation.reservation : null;
  return { reserved: held?.tokens ?? 0, reservedCost: billionths(held?.cost ?? 0) };
}

function at(run: RunState, id: string | null): Delegation | undefined {
  return id === null ? undefined : run.delegations.get(id);
}

/** Throws when somebody in the line does not have what a request may cost at most. */
export function requireFunds(
  run: RunState,
  { payload, sub_agent_id }: StoredEvent<"agent.budget_reserved">,
): void {
  const id = sub_agent_id ?? null;
  const { cost, tokens } = payload;
  for (const one of spendingAbove(run, id)) {
    if (one.isOverrun) {
      throw new MandateError(
        "illegal-transition",
        `Delegation ${id} cannot hold back ${tokens} tokens: a provider reported more than was reserved in ${one.id}.`,
      );
    }
    const isLeft = tokens <= one.cap - one.settled - one.reserved;
    const dollars = one.costCap - one.cost - one.reservedCost;
    if (isLeft && (cost === undefined || billionths(cost) <= dollars)) continue;
    const what = isLeft ? `$${cost}` : `${tokens} tokens`;
    throw new MandateError(
      "illegal-transition",
      `Delegation ${id} cannot hold back ${what}: somebody else was faster.`,
    );
  }
}
