import { createHash } from "node:crypto";
import type { StoredEvent } from "../../events/event.ts";
import type { Clock, Timer } from "../../ports/clock.ts";
import type { LiveText } from "../../ports/store.ts";
import type { Database } from "./database.ts";
import type { WorkerLease } from "./worker-lease.ts";

interface LiveTextOptions {
  readonly database: Database;
  readonly lease: WorkerLease;
  readonly clock: Clock;
  /** Connects now, so that notifications arrive. */
  readonly listen: () => void;
}

/** How long text is collected into one notification. */
const gatherMs = 100;
/** Postgres refuses notifications of 8,000 bytes. */
const mostBytes = 7_500;
/** The characters in one piece. One character as JSON has at most six bytes. */
const pieceLength = 1_000;
/** What one process sends at once; the rest is dropped, since the answer itself is in the log. */
const mostPayloads = 4;
/** A listener says so often that it listens, and after three times without a word is forgotten. */
const renewMs = 5_000;

type Listener = (delegationId: string, text: string) => void;

/**
 * What models write, from the process that asks them to the processes that show it, while it is
 * written. Best effort: it is never stored, and without listeners it is not sent.
 *
 * Any role of a database may listen on any channel whose name it knows. So text is sent on channels
 * whose names follow from the random ids of listening processes, which only their tenant's role can
 * read. Listeners announce themselves by a hash of that id, which opens nothing.
 */
export class LiveTextChannel implements LiveText {
  readonly #options: LiveTextOptions;
  readonly #listeners = new Set<Listener>();
  /** By announced hash: the channel, once it was looked up, and until when it counts. */
  readonly #wanted = new Map<string, { channel: string | null; until: number }>();
  #pending = new Map<string, string>();
  #sending: Timer | undefined;
  #isSending = false;
  #renewals: Timer | undefined;

  constructor(options: LiveTextOptions) {
    this.#options = options;
  }

  /** What this process listens to on its connection for notifications. */
  get channels(): readonly string[] {
    const own = this.#listeners.size === 0 ? [] : [textChannel(this.#options.lease.worker)];
    return [this.#wantsChannel, ...own];
  }

  publish(delegationId: string, text: string): void {
    if (!this.#isWanted()) return;
    this.#pending.set(delegationId, (this.#pending.get(delegationId) ?? "") + text);
    this.#sending ??= this.#options.clock.after(gatherMs, () => void this.#send()).unref();
  }

  subscribe(listener: Listener): () => void {
    this.#listeners.add(listener);
    this.#options.listen();
    this.announce();
    this.#renewals ??= this.#options.clock.every(renewMs, () => this.announce()).unref();
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size > 0) return;
      this.#renewals?.cancel();
      this.#renewals = undefined;
    };
  }

  /** Says that this process listens: also when its connection is new. */
  announce(): void {
    if (this.#listeners.size === 0) return;
    const { worker } = this.#options.lease;
    void this.#notify([[this.#wantsChannel, announced(worker)]]).catch(() => undefined);
  }

  /** A notification; false: it is not about text. */
  hear(channel: string, payload: string): boolean {
    if (channel === this.#wantsChannel) {
      this.#hearListener(payload);
      return true;
    }
    if (!channel.startsWith(textPrefix)) return false;
    for (const [delegationId, text] of piecesIn(payload)) {
      for (const listener of this.#listeners) listener(delegationId, text);
    }
    return true;
  }

  /** What was written is in the log now: the rest of it is of no further use. */
  notice(events: readonly StoredEvent[]): void {
    if (this.#pending.size === 0) return;
    for (const { sub_agent_id: id, type } of events) {
      if (id !== undefined && type === "agent.budget_settled") this.#pending.delete(id);
    }
  }

  close(): void {
    this.#listeners.clear();
    this.#wanted.clear();
    this.#pending.clear();
    this.#sending?.cancel();
    this.#renewals?.cancel();
  }

  get #wantsChannel(): string {
    return `mandate_wants_${short("wants", this.#options.database.schema.plain)}`;
  }

  #hearListener(hash: string): void {
    const { clock, lease } = this.#options;
    if (!/^[0-9a-f]{32}$/.test(hash) || hash === announced(lease.worker)) return;
    // Any role can announce anything: what no process of this schema announced is looked up once.
    if (!this.#wanted.has(hash) && this.#wanted.size >= mostListeners) return;
    const channel = this.#wanted.get(hash)?.channel ?? null;
    this.#wanted.set(hash, { channel, until: clock.monotonic() + 3 * renewMs });
  }

  #isWanted(): boolean {
    if (this.#wanted.size === 0) return false;
    const now = this.#options.clock.monotonic();
    for (const [hash, { until }] of this.#wanted) if (until < now) this.#wanted.delete(hash);
    return this.#wanted.size > 0;
  }

  async #send(): Promise<void> {
    this.#sending = undefined;
    // A database that is slow gets less, and not more later.
    if (this.#isSending || this.#pending.size === 0) return;
    const payloads = payloadsOf(this.#pending);
    this.#pending = new Map();
    this.#isSending = true;
    try {
      const channels = await this.#channelsOfListeners();
      const all = channels.flatMap((channel) =>
        payloads.map((payload): readonly [string, string] => [channel, payload]),
      );
      if (all.length > 0) await this.#notify(all);
    } catch {
      // The lost text would only have been shown; the complete answer is in the log.
    } finally {
      this.#isSending = false;
    }
  }

  async #channelsOfListeners(): Promise<readonly string[]> {
    const { database } = this.#options;
    if ([...this.#wanted.values()].some(({ channel }) => channel === null)) {
      const text = `SELECT id FROM ${database.schema.quoted}.workers`;
      for (const { id } of await database.queryOnce({ text })) {
        const one = this.#wanted.get(announced(String(id)));
        if (one) one.channel = textChannel(String(id));
      }
      for (const [hash, { channel }] of this.#wanted)
        if (channel === null) this.#wanted.delete(hash);
    }
    return [...this.#wanted.values()].flatMap(({ channel }) => channel ?? []);
  }

  async #notify(all: readonly (readonly [channel: string, payload: string])[]): Promise<void> {
    await this.#options.database.queryOnce({
      text: "SELECT pg_catalog.pg_notify(channel, payload) FROM unnest($1::text[], $2::text[]) AS sent (channel, payload)",
      values: [all.map(([channel]) => channel), all.map(([, payload]) => payload)],
    });
  }
}

const mostListeners = 100;

const textPrefix = "mandate_text_";

function textChannel(worker: string): string {
  return textPrefix + short("text", worker);
}

function announced(worker: string): string {
  return short("listens", worker);
}

function short(use: string, of: string): string {
  return createHash("sha256").update(`mandate live text ${use} ${of}`).digest("hex").slice(0, 32);
}

type Piece = readonly [delegationId: string, text: string];

/** The payloads to send: at most `mostPayloads`, each small enough for Postgres. */
function payloadsOf(pending: ReadonlyMap<string, string>): readonly string[] {
  const payloads: string[] = [];
  let pieces: Piece[] = [];
  let bytes = 2;
  const finish = (): void => {
    if (pieces.length > 0) payloads.push(JSON.stringify(pieces));
    pieces = [];
    bytes = 2;
  };
  for (const [id, text] of pending) {
    for (let at = 0; at < text.length; at += pieceLength) {
      const piece: Piece = [id, text.slice(at, at + pieceLength)];
      const more = Buffer.byteLength(JSON.stringify(piece)) + 1;
      if (bytes + more > mostBytes) finish();
      if (payloads.length === mostPayloads) return payloads;
      pieces.push(piece);
      bytes += more;
    }
  }
  finish();
  return payloads.slice(0, mostPayloads);
}

/** Written by any process of the tenant, of any version: what is not of this form is ignored. */
function piecesIn(payload: string): readonly Piece[] {
  try {
    const pieces: unknown = JSON.parse(payload);
    return Array.isArray(pieces) ? pieces.filter(isPiece) : [];
  } catch {
    return [];
  }
}

function isPiece(value: unknown): value is Piece {
  return (
    Array.isArray(value) &&
    value.length === 2 &&
    typeof value[0] === "string" &&
    typeof value[1] === "string"
  );
}
