import type { Delegation } from "../events/delegation.ts";
import type { RunState } from "../events/run-state.ts";
import {
  type Amounts,
  addTo,
  differenceOf,
  noAmounts,
  ownOf,
  type Spending,
  spendingAbove,
} from "../events/spending.ts";
import { wholeBillionths } from "../ports/dollars.ts";

/** Tokens, and what they cost in billionths of a dollar: whole ones, so that sums are exact. */
export interface Amount {
  readonly tokens: number;
  readonly cost: number;
}

/** What a request may use at most; `prompt`: of the tokens, the bound of its prompt. */
export interface Held extends Amount {
  readonly prompt?: number;
}

/** Whose budget it is; `id`: null for a run. `log`: null where no other process spends from it. */
interface BudgetOwner {
  readonly id: string | null;
  readonly execution: { readonly log: RunState | null };
}

const alone: BudgetOwner = { id: null, execution: { log: null } };

export const nothing: Amount = Object.freeze({ tokens: 0, cost: 0 });

/**
 * What a delegation may spend, and has spent together with all below it. A child's budget is a cap,
 * not money taken from its parent in advance: the worst case of a request is reserved from the child
 * and every ancestor before the request leaves, and settled by what was reported. Both are events:
 * the budget follows the states that they lead to, and nothing else changes it.
 */
export class Budget {
  readonly tokens: number;
  /** In billionths of a dollar. A run has it from its root, which is made after it. */
  cost: number;
  readonly #above: Budget | null;
  readonly #of: BudgetOwner;
  readonly #spent: Amounts = { ...noAmounts };
  /** What its own delegation keeps back to report: its next request is paid from it. */
  #own: Amount = nothing;
  #isOverrun = false;

  /** `dollars`: null where there is no cap. */
  constructor(
    above: Budget | null,
    tokens: number,
    dollars: number | null = null,
    of: BudgetOwner = alone,
  ) {
    this.#above = above;
    this.#of = of;
    this.tokens = tokens;
    this.cost = dollars === null ? Number.POSITIVE_INFINITY : wholeBillionths(dollars);
  }

  /** What can be reserved now: the least that this budget and those above it have free. */
  get available(): Amount {
    return this.#least((one) => plus(this.#own, freeOf(one)));
  }

  /** What can be reserved whatever other processes reserve before it is written. */
  get certain(): Amount {
    return this.#of.execution.log === null ? this.available : nothing;
  }

  /** What is free once every request under way turns out to have cost nothing. */
  get unspent(): Amount {
    return this.#least((one) => plus(this.#own, unspentOf(one)));
  }

  /** The same without what its delegation keeps back for itself. */
  get forChildren(): Amount {
    return this.#least(unspentOf);
  }

  fits({ cost, tokens }: Amount): boolean {
    const { available } = this;
    return tokens <= available.tokens && cost <= available.cost;
  }

  /** A delegation moved from one state to another: the difference counts in this budget and above. */
  follow(before: Delegation | null, after: Delegation): void {
    const is = ownOf(after);
    this.#isOverrun = after.overrun === true;
    this.#own = is.kept === 0 ? nothing : { tokens: is.kept, cost: is.keptCost };
    const difference = differenceOf(before === null ? noAmounts : ownOf(before), is);
    if (difference === undefined) return;
    // Where other processes spend from the budgets above, the log has all of it.
    const isShared = this.#of.execution.log !== null;
    for (let one: Budget | null = this; one !== null; one = isShared ? null : one.#above) {
      addTo(one.#spent, difference);
    }
  }

  /** What is spent from this budget and from each above it. */
  #spending(): readonly Spending[] {
    const { execution, id } = this.#of;
    const { log } = execution;
    if (log === null) {
      const line: Spending[] = [];
      for (let one: Budget | null = this; one !== null; one = one.#above) {
        const { cost: costCap, tokens: cap } = one;
        line.push({ cap, costCap, isOverrun: one.#isOverrun, ...one.#spent });
      }
      return line;
    }
    const known = log.delegations.get(id ?? "");
    // What was just reserved or reported here may not be written yet.
    const unwritten = known && differenceOf(ownOf(known), this.#spent);
    return Array.from(spendingAbove(log, id), (one) => {
      const isOverrun = one.isOverrun || (one.id === id && this.#isOverrun);
      const spending = { ...one, isOverrun };
      if (unwritten !== undefined) addTo(spending, unwritten);
      return spending;
    });
  }

  #least(amountOf: (spending: Spending) => Amount): Amount {
    let tokens = Number.POSITIVE_INFINITY;
    let cost = Number.POSITIVE_INFINITY;
    for (const one of this.#spending()) {
      const amount = amountOf(one);
      tokens = Math.min(tokens, one.isOverrun ? Math.min(0, amount.tokens) : amount.tokens);
      cost = Math.min(cost, amount.cost);
    }
    return { tokens, cost };
  }
}

function freeOf({ cap, cost, costCap, kept, keptCost, ...one }: Spending): Amount {
  return {
    tokens: cap - one.settled - one.reserved - kept,
    cost: costCap - cost - one.reservedCost - keptCost,
  };
}

function unspentOf(one: Spending): Amount {
  return plus(freeOf(one), { tokens: one.reserved, cost: one.reservedCost });
}

function plus(one: Amount, other: Amount): Amount {
  return { tokens: one.tokens + other.tokens, cost: one.cost + other.cost };
}

/** What a request has used. */
export interface Used {
  readonly prompt: number;
  readonly completion: number;
  /** In dollars. */
  readonly cost: number;
  /** The provider did not report it, or reported what is no count. */
  readonly isEstimated?: boolean;
}

/** A request that was settled as an estimate, and can be corrected while its delegation is open. */
export interface Estimate {
  readonly used: Used;
  readonly reserved: Held;
  readonly model: string;
}
