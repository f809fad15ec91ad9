/**
 * Who may still spend how much. A child's budget is a cap, not money taken from its parent in
 * advance: the worst case of a request is reserved from the child and from every ancestor before
 * the request leaves, and settled by what was reported, so that fifty children racing for one
 * budget cannot spend it twice.
 */
export class Account {
  readonly parent: Account | null;
  readonly cap: number;
  readonly costCap: number | null;
  settled = 0;
  reserved = 0;
  cost = 0;
  readonly #waiting: (() => void)[] | null;

  constructor(parent: Account | null, cap: number, costCap: number | null = null) {
    this.parent = parent;
    this.cap = cap;
    this.costCap = costCap;
    // Siblings compete at the top; that is where those who wait for a release are woken.
    this.#waiting = parent === null ? [] : null;
  }

  /** What can be reserved right now: the least that this account and its ancestors have free. */
  get available(): number {
    let least = Number.POSITIVE_INFINITY;
    for (let account: Account | null = this; account; account = account.parent) {
      least = Math.min(least, account.cap - account.settled - account.reserved);
    }
    return least;
  }

  /** What will be there once every request that is under way turns out to have cost nothing. */
  get unspent(): number {
    let least = Number.POSITIVE_INFINITY;
    for (let account: Account | null = this; account; account = account.parent) {
      least = Math.min(least, account.cap - account.settled);
    }
    return least;
  }

  get costLeft(): number {
    let least = Number.POSITIVE_INFINITY;
    for (let account: Account | null = this; account; account = account.parent) {
      if (account.costCap !== null) least = Math.min(least, account.costCap - account.cost);
    }
    return least;
  }

  /** False, and nothing reserved, when some ancestor does not have it. */
  reserve(tokens: number): boolean {
    if (tokens > this.available) return false;
    for (let account: Account | null = this; account; account = account.parent) {
      account.reserved += tokens;
    }
    return true;
  }

  /** A reservation found in the log: it was granted once and is not asked for again. */
  restoreReservation(tokens: number): void {
    for (let account: Account | null = this; account; account = account.parent) {
      account.reserved += tokens;
    }
  }

  settle(reserved: number, used: number, cost: number): void {
    let top: Account = this;
    for (let account: Account | null = this; account; account = account.parent) {
      account.reserved -= reserved;
      account.settled += used;
      account.cost += cost;
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
