import type { Contract } from "../../contracts/contract.ts";
import type { RunState } from "../../events/run-state.ts";
import { heldBackBy, type Spending, spendingAbove } from "../../events/spending.ts";
import { billionths } from "../../ports/dollars.ts";
import type { Agent } from "../agent.ts";
import type { LiveRun } from "../live-run.ts";
import { Account, type Amount } from "../turns/ledger.ts";

/**
 * The account of a delegation in a spread run. Others spend from the same budget in other
 * processes, so what is left is read from the log each time, and a reservation counts when it is
 * written: the fold refuses what somebody else was faster to take.
 */
export class SharedAccount extends Account {
  readonly #run: LiveRun;
  readonly #id: string | null;

  constructor(run: LiveRun, id: string | null, parent: Account | null = null, contract?: Contract) {
    const { cost = null, tokens = run.tokens } = contract?.budget ?? {};
    super(parent, tokens, cost);
    this.#run = run;
    this.#id = id;
  }

  override get available(): Amount {
    return this.#least(({ cap, cost, costCap, isOverrun, reserved, reservedCost, settled }) => ({
      tokens: isOverrun ? 0 : cap - settled - reserved,
      cost: costCap - cost - reservedCost,
    }));
  }

  override get unspent(): Amount {
    return this.#least(({ cap, cost, costCap, isOverrun, settled }) => ({
      tokens: isOverrun ? 0 : cap - settled,
      cost: costCap - cost,
    }));
  }

  /** What it holds back and has spent itself is known here before it is written. */
  override restoreReservation({ cost, tokens }: Amount): void {
    this.reserved += tokens;
    this.reservedCost += cost;
  }

  override settle(reserved: Amount, used: Amount): void {
    this.reserved -= reserved.tokens;
    this.reservedCost -= reserved.cost;
    this.settled += used.tokens;
    this.cost += used.cost;
  }

  override released(): Promise<void> {
    return this.#run.released();
  }

  #least(amountOf: (spending: Spending) => Amount): Amount {
    const { state } = this.#run;
    if (state === null) return { tokens: this.cap, cost: this.costCap };
    const { cost, reserved, reservedCost, settled } = this.#unwritten(state);
    // What was just reported may not be written yet.
    let least: Amount = { tokens: this.isOverrun ? 0 : this.cap, cost: Number.POSITIVE_INFINITY };
    for (const known of spendingAbove(state, this.#id)) {
      const amount = amountOf({
        ...known,
        settled: known.settled + settled,
        reserved: known.reserved + reserved,
        cost: known.cost + cost,
        reservedCost: known.reservedCost + reservedCost,
      });
      least = {
        tokens: Math.min(least.tokens, amount.tokens),
        cost: Math.min(least.cost, amount.cost),
      };
    }
    return least;
  }

  /** How far its own figures are ahead of what the log says of it. */
  #unwritten(state: RunState): Omit<Spending, "cap" | "costCap" | "isOverrun"> {
    const delegation = this.#id === null ? undefined : state.delegations.get(this.#id);
    if (delegation === undefined) return nothing;
    const { usage } = delegation;
    const held = heldBackBy(delegation);
    return {
      settled: this.settled - usage.prompt - usage.completion,
      reserved: this.reserved - held.reserved,
      cost: this.cost - billionths(usage.cost),
      reservedCost: this.reservedCost - held.reservedCost,
    };
  }
}

const nothing = { settled: 0, reserved: 0, cost: 0, reservedCost: 0 };

/** The account of a delegation, below its caller's. What the root may cost is for the whole run. */
export function accountFor(
  run: LiveRun,
  caller: Agent | null,
  id: string,
  contract: Contract,
): Account {
  const above = caller?.account ?? run.account;
  const { cost, tokens } = contract.budget;
  const account = run.isSpread
    ? new SharedAccount(run, id, above, contract)
    : new Account(above, tokens, cost);
  const { sub_agent_id: parent, watches } = contract.parent;
  if (parent === null && watches === undefined) run.account.costCap = account.costCap;
  return account;
}
