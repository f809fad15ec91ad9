import type { Clock, Timer } from "../../../ports/clock.ts";

export interface KeptSessionsOptions<Session> {
  /** Whether work of the session continues without requests. */
  isBusy(session: Session): boolean | Promise<boolean>;
  close(session: Session): void | Promise<void>;
  readonly idleMs: number;
  readonly maxPerOwner: number;
  readonly clock: Clock;
}

interface Entry<Session> {
  readonly owner: string;
  readonly session: Promise<Session>;
  /** The number of the session's open requests and streams. */
  uses: number;
  usedAt: number;
}

/**
 * The sessions of clients between their requests. Unused sessions without open work are closed
 * after a while, since clients disappear without notice. Each has one owner and is invisible to all
 * others.
 */
export class KeptSessions<Session> {
  readonly #options: KeptSessionsOptions<Session>;
  readonly #entries = new Map<string, Entry<Session>>();
  readonly #sweeper: Timer;

  constructor(options: KeptSessionsOptions<Session>) {
    this.#options = options;
    const every = Math.max(Math.min(options.idleMs / 4, 60_000), 10);
    this.#sweeper = options.clock.every(every, () => void this.sweep()).unref();
  }

  /** Counts as used until `release` is called. Undefined: the owner has no such session. */
  use(
    owner: string,
    key: string,
  ): { readonly session: Promise<Session>; release(): void } | undefined {
    const entry = this.#entries.get(key);
    return entry?.owner === owner ? this.#hold(entry) : undefined;
  }

  /**
   * Returns or opens a session. Undefined: the owner has the maximum of sessions, all of them busy.
   */
  async open(
    owner: string,
    key: string,
    make: () => Promise<Session>,
  ): Promise<{ readonly session: Promise<Session>; release(): void } | undefined> {
    const known = this.use(owner, key);
    if (known) return known;
    if (!(await this.#makeRoom(owner))) return undefined;
    // Another request of the client may have opened the session by now.
    const faster = this.use(owner, key);
    if (faster) return faster;
    const entry = { owner, session: make(), uses: 0, usedAt: this.#options.clock.monotonic() };
    this.#entries.set(key, entry);
    entry.session.catch(() => this.#entries.delete(key));
    return this.#hold(entry);
  }

  async end(owner: string, key: string): Promise<void> {
    const entry = this.#entries.get(key);
    if (entry?.owner !== owner) return;
    this.#entries.delete(key);
    await this.#close(entry);
  }

  async endAll(isConcerned: (owner: string) => boolean = () => true): Promise<void> {
    await this.#endWhere(async ({ owner }) => isConcerned(owner));
  }

  /** Ends those that another server has ended. */
  async endLike(isOver: (session: Session) => boolean): Promise<void> {
    await this.#endWhere(async (entry) => {
      const session = await entry.session.catch(() => undefined);
      return session !== undefined && isOver(session);
    });
  }

  async sweep(): Promise<void> {
    const { idleMs, clock } = this.#options;
    for (const [key, entry] of [...this.#entries]) {
      if (clock.monotonic() - entry.usedAt < idleMs) continue;
      try {
        if (!(await this.#isIdle(entry))) continue;
        if (this.#entries.get(key) === entry) await this.end(entry.owner, key);
      } catch {
        // The database may be unavailable: the next sweep tries again.
      }
    }
  }

  stop(): void {
    this.#sweeper.cancel();
  }

  async #endWhere(isConcerned: (entry: Entry<Session>) => Promise<boolean>): Promise<void> {
    const ends = [...this.#entries].map(async ([key, entry]) => {
      if (await isConcerned(entry)) await this.end(entry.owner, key);
    });
    await Promise.all(ends);
  }

  #hold(entry: Entry<Session>): { readonly session: Promise<Session>; release(): void } {
    entry.uses++;
    let isHeld = true;
    return {
      session: entry.session,
      release: () => {
        if (!isHeld) return;
        isHeld = false;
        entry.uses--;
        entry.usedAt = this.#options.clock.monotonic();
      },
    };
  }

  /** Closes the least recently used idle session. */
  async #makeRoom(owner: string): Promise<boolean> {
    const own = [...this.#entries].filter(([, entry]) => entry.owner === owner);
    if (own.length < this.#options.maxPerOwner) return true;
    own.sort(([, one], [, other]) => one.usedAt - other.usedAt);
    for (const [key, entry] of own) {
      if (!(await this.#isIdle(entry)) || this.#entries.get(key) !== entry) continue;
      await this.end(owner, key);
      return true;
    }
    return false;
  }

  async #isIdle(entry: Entry<Session>): Promise<boolean> {
    if (entry.uses > 0) return false;
    const session = await entry.session.catch(() => undefined);
    const isBusy = session !== undefined && (await this.#options.isBusy(session));
    return !isBusy && entry.uses === 0;
  }

  async #close(entry: Entry<Session>): Promise<void> {
    const session = await entry.session.catch(() => undefined);
    if (session !== undefined) await this.#options.close(session);
  }
}
