import type { Client } from "pg";
import type { Clock, Timer } from "../../ports/clock.ts";
import { codeOf } from "../../ports/database-fault.ts";
import type { Log } from "../../ports/log.ts";
import { type Database, letProcessEnd, runAll } from "./database.ts";
import type { WorkerLease } from "./worker-lease.ts";

export interface WatchOptions {
  readonly database: Database;
  readonly lease: WorkerLease;
  readonly clock: Clock;
  readonly leaseMs: number;
  readonly pollMs: number;
  readonly log?: Log | undefined;
  /** Called with the last event of each commit of another process. */
  readonly onCommit: (lastSeq: number) => void;
  /** Gets notifications of other channels than the one for commits. */
  readonly text: {
    readonly channels: readonly string[];
    announce(): void;
    hear(channel: string, payload: string): boolean;
  };
  /** Called regularly, whether a notification came or not. */
  readonly onPoll: () => void;
}

/**
 * One connection that sends this worker's heartbeats and receives commit notifications. A failing
 * heartbeat shows that the connection is broken; until it is back, polling replaces the
 * notifications.
 */
export class Watch {
  readonly #options: WatchOptions;
  readonly #beats: Timer;
  readonly #polls: Timer;
  #client: Client | undefined;
  /** The channels for text that this connection listens to. */
  #heard = new Set<string>();
  #connecting: Promise<void> | undefined;
  #failures = 0;
  #retryAt = 0;
  #isBeating = false;
  #isClosed = false;
  #lostAt: number | undefined;

  constructor(options: WatchOptions) {
    this.#options = options;
    const { clock, leaseMs, onPoll, pollMs } = options;
    this.#beats = clock.every(leaseMs / 5, () => void this.beat()).unref();
    this.#polls = clock.every(pollMs, onPoll).unref();
  }

  /** Connects now instead of with the first heartbeat. */
  listen(): void {
    void this.#connect().then(
      () => this.#listenToText(),
      () => undefined,
    );
  }

  async beat(): Promise<void> {
    if (this.#isBeating || this.#isClosed) return;
    this.#isBeating = true;
    try {
      await this.#connect();
      if (this.#client === undefined) return;
      const { lease } = this.#options;
      const { worker } = lease;
      const rows = await this.#client.query(lease.beat());
      // The id of this process may be another one now.
      await this.#listenToText();
      this.#failures = 0;
      this.#noteAnswer();
      if (rows.rowCount === 0 && !this.#isClosed) await lease.noticeDeath(worker);
    } catch (error) {
      this.#noteLoss(error);
      await this.#drop();
    } finally {
      this.#isBeating = false;
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#beats.cancel();
    this.#polls.cancel();
    await this.#drop();
  }

  #connect(): Promise<void> {
    if (this.#client !== undefined || this.#isClosed) return Promise.resolve();
    if (this.#options.clock.monotonic() < this.#retryAt) return Promise.resolve();
    this.#connecting ??= this.#open().finally(() => (this.#connecting = undefined));
    return this.#connecting;
  }

  async #open(): Promise<void> {
    const { database, onCommit, onPoll, text } = this.#options;
    let client: Client | undefined;
    try {
      client = await database.connect();
      letProcessEnd(client);
      client.on("notification", ({ channel, payload = "" }) => {
        if (!text.hear(channel, payload)) onCommit(Number(payload));
      });
      client.on("end", () => void this.#drop(client));
      await runAll(client, [`LISTEN ${database.schema.quoted}`]);
      if (this.#isClosed) throw new Error("closed");
      this.#client = client;
      this.#heard = new Set();
      await this.#listenToText();
      // Reads what was committed while this process did not listen.
      onPoll();
    } catch (error) {
      this.#noteLoss(error);
      if (client !== undefined) await database.disconnect(client);
      this.#backOff();
    }
  }

  async #listenToText(): Promise<void> {
    const { text } = this.#options;
    const client = this.#client;
    const missing = text.channels.filter((channel) => !this.#heard.has(channel));
    if (client === undefined || missing.length === 0) return;
    for (const channel of missing) this.#heard.add(channel);
    await runAll(
      client,
      missing.map((channel) => `LISTEN ${channel}`),
    );
    text.announce();
  }

  async #drop(client = this.#client): Promise<void> {
    if (client === undefined) return;
    if (client === this.#client) {
      this.#client = undefined;
      this.#backOff();
    }
    await this.#options.database.disconnect(client);
  }

  /** One line for an outage, however many tries fail; a connection that is replaced at once is none. */
  #noteLoss(error: unknown): void {
    if (this.#isClosed || this.#lostAt !== undefined || this.#failures === 0) return;
    const { clock, database, lease, log } = this.#options;
    this.#lostAt = clock.monotonic();
    log?.({
      level: "error",
      code: "database_lost",
      message: `The database ${database.place} does not answer. Work continues when it does.`,
      worker: lease.worker,
      error: codeOf(error),
    });
  }

  #noteAnswer(): void {
    if (this.#lostAt === undefined) return;
    const { clock, database, lease, log } = this.#options;
    const seconds = Math.round((clock.monotonic() - this.#lostAt) / 1000);
    this.#lostAt = undefined;
    log?.({
      level: "info",
      code: "database_back",
      message: `The database ${database.place} answers again, after ${seconds} s.`,
      worker: lease.worker,
    });
  }

  /** Each consecutive failure doubles the pause, up to the time between two heartbeats. */
  #backOff(): void {
    const { clock, leaseMs } = this.#options;
    const longest = leaseMs / 5;
    const pause = Math.min(longest, 20 * 2 ** this.#failures++) * (0.5 + clock.random() / 2);
    this.#retryAt = clock.monotonic() + pause;
    if (!this.#isClosed) clock.after(pause + 1, () => void this.beat()).unref();
  }
}
