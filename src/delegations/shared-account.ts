import type { Contract } from "../contracts/contract.ts";
import { type Spending, spendingAbove } from "../events/spending.ts";
import type { Agent } from "./agent.ts";
import { Account } from "./ledger.ts";
import type { LiveRun } from "./live-run.ts";

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

  override reserve(tokens: number): boolean {
    return tokens <= this.available;
  }

  override restoreReservation(): void {}

  override settle(): void {}

  override released(): Promise<void> {
    return this.#run.released();
  }

  #least(amountOf: (spending: Spending) => number): number {
    const { state } = this.#run;
    if (state === null) return this.cap;
    return Math.min(this.cap, ...spendingAbove(state, this.#id).map(amountOf));
  }
}

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
