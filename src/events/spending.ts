import { MandateError } from "../ports/mandate-error.ts";
import type { Delegation } from "./delegation.ts";
import type { StoredEvent } from "./event.ts";
import type { RunState } from "./run-state.ts";

/** What one delegation and all below it have used, and hold back for requests that are under way. */
export interface Spending {
  /** Null: the run itself. */
  readonly id: string | null;
  readonly cap: number;
  settled: number;
  reserved: number;
  cost: number;
}

/** From a delegation up to the run: everybody whose budget its requests are paid from. */
export function spendingAbove(run: RunState, id: string | null): readonly Spending[] {
  const line: Spending[] = [];
  const place = new Map<string | null, number>();
  const add = (of: string | null, cap: number): void => {
    place.set(of, line.length);
    line.push({ id: of, cap, settled: 0, reserved: 0, cost: 0 });
  };
  for (let one = at(run, id); one !== undefined; one = at(run, one.parentId)) {
    add(one.id, one.share?.tokens ?? Number.POSITIVE_INFINITY);
  }
  add(null, run.budgetTokens);
  for (const delegation of run.delegations.values()) {
    const { usage } = delegation;
    const reserved = delegation.status === "running" ? (delegation.reservation?.tokens ?? 0) : 0;
    const settled = usage.prompt + usage.completion;
    if (reserved === 0 && settled === 0) continue;
    // Counted for the nearest in the line, and for all above that one.
    for (let index = nearest(run, delegation, place); index < line.length; index++) {
      const spending = line[index];
      if (spending === undefined) break;
      spending.settled += settled;
      spending.reserved += reserved;
      spending.cost += usage.cost;
    }
  }
  return line;
}

function nearest(
  run: RunState,
  from: Delegation,
  place: ReadonlyMap<string | null, number>,
): number {
  for (let one: Delegation | undefined = from; one !== undefined; one = at(run, one.parentId)) {
    const index = place.get(one.id);
    if (index !== undefined) return index;
  }
  return place.get(null) ?? 0;
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
