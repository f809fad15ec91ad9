import { wholeBillionths } from "../../ports/dollars.ts";

/** Tokens, and what they cost in billionths of a dollar: whole ones, so that sums are exact. */
export interface Amount {
  readonly tokens: number;
  readonly cost: number;
}

/** What a request may use at most; `prompt`: of the tokens, the bound of its prompt. */
export interface Held extends Amount {
  readonly prompt?: number;
}

export const nothing: Amount = Object.freeze({ tokens: 0, cost: 0 });

/**
 * Who may still spend how much. A child's budget is a cap, not money taken from its parent in
 * advance: the worst case of a request is reserved from the child and from every ancestor before
 * the request leaves, and settled by what was reported, so that fifty children racing for one
 * budget cannot spend it twice.
 */
export class Account {
  readonly parent: Account | null;
  readonly cap: number;
  /** In billionths of a dollar. A run has it from its root, which comes after it. */
  costCap: number;
  settled = 0;
  reserved = 0;
  cost = 0;
  reservedCost = 0;
  /** A provider reported more than was reserved: nothing is free here or below any more. */
  isOverrun = false;
  readonly #waiting: (() => void)[] | null;

  /** `dollars`: null where nobody has set a limit. */
  constructor(parent: Account | null, cap: number, dollars: number | null = null) {
    this.parent = parent;
    this.cap = cap;
    this.costCap = dollars === null ? Number.POSITIVE_INFINITY : wholeBillionths(dollars);
    // Siblings compete at the top; that is where those who wait for a release are woken.
    this.#waiting = parent === null ? [] : null;
  }

  /** What can be reserved right now: the least that this account and its ancestors have free. */
  get available(): Amount {
    let tokens = Number.POSITIVE_INFINITY;
    let cost = Number.POSITIVE_INFINITY;
    for (let account: Account | null = this; account; account = account.parent) {
      tokens = Math.min(tokens, account.cap - account.settled - account.reserved);
      if (account.isOverrun) tokens = Math.min(tokens, 0);
      cost = Math.min(cost, account.costCap - account.cost - account.reservedCost);
    }
    return { tokens, cost };
  }

  /** What will be there once every request that is under way turns out to have cost nothing. */
  get unspent(): Amount {
    let tokens = Number.POSITIVE_INFINITY;
    let cost = Number.POSITIVE_INFINITY;
    for (let account: Account | null = this; account; account = account.parent) {
      tokens = Math.min(tokens, account.cap - account.settled);
      if (account.isOverrun) tokens = Math.min(tokens, 0);
      cost = Math.min(cost, account.costCap - account.cost);
    }
    return { tokens, cost };
  }

  /** False, and nothing reserved, when some ancestor does not have it. */
  reserve(amount: Amount): boolean {
    const { available } = this;
    if (amount.tokens > available.tokens || amount.cost > available.cost) return false;
    this.restoreReservation(amount);
    return true;
  }

  /** A reservation found in the log: it was granted once and is not asked for again. */
  restoreReservation({ cost, tokens }: Amount): void {
    for (let account: Account | null = this; account; account = account.parent) {
      account.reserved += tokens;
      account.reservedCost += cost;
    }
  }

  settle(reserved: Amount, used: Amount): void {
    let top: Account = this;
    for (let account: Account | null = this; account; account = account.parent) {
      account.reserved -= reserved.tokens;
      account.reservedCost -= reserved.cost;
      account.settled += used.tokens;
      account.cost += used.cost;
      top = account;
    }
    top.#wake();
  }

  /** Resolves when any request below the same top account has been settled. */
  released(): Promise<void> {
    let top: Account = this;
    while (top.parent) top = top.parent;
    return new Promise((resolve) => top.#waiting?.push(resolve));
  }

  #wake(): void {
    if (this.#waiting === null || this.#waiting.length === 0) return;
    for (const resume of this.#waiting.splice(0)) resume();
  }
}
