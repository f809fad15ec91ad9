import type { Contract } from "../../contracts/contract.ts";
import type { RunState } from "../../events/run-state.ts";
import { type Spending, spendingAbove } from "../../events/spending.ts";
import type { Agent } from "../agent.ts";
import type { LiveRun } from "../live-run.ts";
import { Account } from "../turns/ledger.ts";

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

  override get available(): number {
    return this.#least(({ cap, reserved, settled }) => cap - settled - reserved);
  }

  override get unspent(): number {
    return this.#least(({ cap, settled }) => cap - settled);
  }

  override get costLeft(): number {
    const caps = new Map<string | null, number>();
    for (let account: Account | null = this; account; account = account.parent) {
      if (account instanceof SharedAccount && account.costCap !== null) {
        caps.set(account.#id, account.costCap);
      }
    }
    if (caps.size === 0) return Number.POSITIVE_INFINITY;
    return this.#least(({ cost, id }) => (caps.get(id) ?? Number.POSITIVE_INFINITY) - cost);
  }

  /** What it holds back and has spent itself is known here before it is written. */
  override reserve(tokens: number): boolean {
    if (tokens > this.available) return false;
    this.reserved += tokens;
    return true;
  }

  override restoreReservation(tokens: number): void {
    this.reserved += tokens;
  }

  override settle(reserved: number, used: number, cost: number): void {
    this.reserved -= reserved;
    this.settled += used;
    this.cost += cost;
  }

  override released(): Promise<void> {
    return this.#run.released();
  }

  #least(amountOf: (spending: Spending & { readonly id: string | null }) => number): number {
    const { state } = this.#run;
    if (state === null) return this.cap;
    const { cost, reserved, settled } = this.#unwritten(state);
    let least = this.cap;
    for (const known of spendingAbove(state, this.#id)) {
      const ahead = {
        ...known,
        settled: known.settled + settled,
        reserved: known.reserved + reserved,
        cost: known.cost + cost,
      };
      least = Math.min(least, amountOf(ahead));
    }
    return least;
  }

  /** How far its own figures are ahead of what the log says of it. */
  #unwritten(state: RunState): Pick<Spending, "cost" | "reserved" | "settled"> {
    const delegation = this.#id === null ? undefined : state.delegations.get(this.#id);
    if (delegation === undefined) return nothing;
    const { usage } = delegation;
    const held = delegation.status === "running" ? (delegation.reservation?.tokens ?? 0) : 0;
    return {
      settled: this.settled - usage.prompt - usage.completion,
      reserved: this.reserved - held,
      cost: this.cost - usage.cost,
    };
  }
}

const nothing = { settled: 0, reserved: 0, cost: 0 };

/** The account of a delegation, below its caller's. */
export function accountFor(
  run: LiveRun,
  caller: Agent | null,
  id: string,
  contract: Contract,
): Account {
  const above = caller?.account ?? run.account;
  if (run.isSpread) return new SharedAccount(run, id, above, contract);
  return new Account(above, contract.budget.tokens, contract.budget.cost);
}
