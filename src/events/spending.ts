import { MandateError } from "../ports/mandate-error.ts";
import type { Delegation } from "./delegation.ts";
import type { StoredEvent } from "./event.ts";
import type { RunState } from "./run-state.ts";

/** What one delegation and all below it have used, and hold back for requests that are under way. */
export interface Spending {
  readonly cap: number;
  readonly settled: number;
  readonly reserved: number;
  readonly cost: number;
}

/** The same of a whole subtree; null stands for the run. */
export type SpendingTotals = Map<string | null, Amounts>;

interface Amounts {
  settled: number;
  reserved: number;
  cost: number;
}

/** From a delegation up to the run: everybody whose budget its requests are paid from. */
export function* spendingAbove(
  run: RunState,
  id: string | null,
): Generator<Spending & { readonly id: string | null }> {
  run.totals ??= totalsOf(run);
  for (let one = at(run, id); one !== undefined; one = at(run, one.parentId)) {
    const cap = one.share?.tokens ?? Number.POSITIVE_INFINITY;
    yield { id: one.id, cap, ...(run.totals.get(one.id) ?? nothing) };
  }
  yield { id: null, cap: run.budgetTokens, ...(run.totals.get(null) ?? nothing) };
}

const nothing: Readonly<Amounts> = Object.freeze({ settled: 0, reserved: 0, cost: 0 });

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
  if (settled === 0 && reserved === 0 && cost === 0) return;
  const grow = (id: string | null): void => {
    const known = totals.get(id);
    if (known === undefined) totals.set(id, { settled, reserved, cost });
    else {
      known.settled += settled;
      known.reserved += reserved;
      known.cost += cost;
    }
  };
  for (let one: Delegation | undefined = delegation; one; one = at(run, one.parentId)) grow(one.id);
  grow(null);
}

function ownOf(delegation: Delegation): Amounts {
  const { usage } = delegation;
  const reserved = delegation.status === "running" ? (delegation.reservation?.tokens ?? 0) : 0;
  return { settled: usage.prompt + usage.completion, reserved, cost: usage.cost };
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
  for (const { cap, reserved, settled } of spendingAbove(run, id)) {
    if (payload.tokens <= cap - settled - reserved) continue;
    throw new MandateError(
      "illegal-transition",
      `Delegation ${id} cannot hold back ${payload.tokens} tokens: somebody else was faster.`,
    );
  }
}
