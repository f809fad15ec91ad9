import { createHash } from "node:crypto";
import { z } from "zod";
import type { Principal } from "../../../control/records/principal.ts";
import { unlessConflict } from "../../../ports/mandate-error.ts";
import type { RecordStore } from "../../../ports/record-store.ts";
import { ownerKeyOf } from "./http-client.ts";

const resourceType = "mcp-session";
const longestMs = 12 * 3_600_000;
/** The most sessions of a principal; a new one replaces the one that expires first. */
const mostSessions = 256;
const mostRuns = 100;
const mostSubscriptions = 100;

const sessionState = z.strictObject({
  /** `ownerKeyOf` its principal. */
  owner: z.string(),
  /** The parameters of `initialize`; null: 2026-07-28 has no handshake. */
  handshake: z.record(z.string(), z.unknown()).nullable(),
  /** The subscribed resources (2025-11-25). */
  subscriptions: z.array(z.string()),
  /** The runs of its delegations, whichever server opened them. */
  runs: z.array(z.string()),
  /** When it expires, in milliseconds since 1970. */
  until: z.number(),
});

export type SessionState = z.output<typeof sessionState>;

interface Place {
  readonly store: RecordStore;
  readonly now: () => number;
  readonly id: string;
  readonly owner: string;
  readonly makeRoom: () => Promise<void>;
}

/**
 * The sessions of MCP clients as records: every server of a database continues them, also when the
 * server that opened one is gone. A record expires twelve hours after its last use.
 */
export class StoredSessions {
  readonly #store: RecordStore;
  readonly #now: () => number;

  constructor(store: RecordStore, now: () => number) {
    this.#store = store;
    this.#now = now;
  }

  /** Writes nothing. `key`: the session's id, or what stands for it in 2026-07-28. */
  at(principal: Principal, key: string): StoredSession {
    const id = `${prefixOf(principal.id)}${hashOf(key)}`;
    return new StoredSession({
      ...{ store: this.#store, now: this.#now, id, owner: ownerKeyOf(principal) },
      makeRoom: () => this.#makeRoom(principal),
    });
  }

  /** Removes what has expired, and what a principal has too many of, before a session is added. */
  async #makeRoom(principal: Principal): Promise<void> {
    const records = await this.#store.listRecords(resourceType, prefixOf(principal.id));
    const untilOf = ({ value }: (typeof records)[number]): number => readState(value)?.until ?? 0;
    const sorted = records.toSorted((one, other) => untilOf(one) - untilOf(other));
    const surplus = sorted.length - mostSessions + 1;
    const over = sorted.filter((record, at) => at < surplus || untilOf(record) <= this.#now());
    await this.#remove(over);
  }

  /** Ends all sessions of a principal, and returns their runs. */
  async endAll(principalId: string): Promise<readonly string[]> {
    const records = await this.#store.listRecords(resourceType, prefixOf(principalId));
    await this.#remove(records);
    return records.flatMap(({ value }) => readState(value)?.runs ?? []);
  }

  async #remove(
    records: readonly { readonly resourceId: string; readonly version: number }[],
  ): Promise<void> {
    const changes = records.map(({ resourceId, version }) => {
      return { resourceType, resourceId, expectedVersion: version, value: null };
    });
    // On a conflict a server uses one of them, or removes the same ones.
    if (changes.length > 0) await this.#store.changeRecords(changes, "mcp").catch(unlessConflict);
  }
}

/** What is stored of one session, as it was read last. */
export class StoredSession {
  /** The id of the session, which every server of the database knows. */
  readonly id: string;
  readonly #place: Place;
  #state: SessionState | undefined;

  constructor(place: Place) {
    this.id = place.id;
    this.#place = place;
  }

  /** Undefined: it was not stored, it has ended or expired, or its principal has another role. */
  get state(): SessionState | undefined {
    return this.#state;
  }

  /** Reads it, and keeps it for another twelve hours when half of them are over. */
  async refresh(): Promise<SessionState | undefined> {
    const { now } = this.#place;
    const { state } = await this.#read();
    if (state !== undefined && state.until - now() < longestMs / 2) await this.change((one) => one);
    return this.#state;
  }

  /** Stores a new session; one that is stored stays as it is. */
  async begin(handshake: SessionState["handshake"]): Promise<void> {
    const { makeRoom, owner } = this.#place;
    if ((await this.#read()).state !== undefined) return;
    await makeRoom();
    const fresh = { owner, handshake, subscriptions: [], runs: [], until: 0 };
    await this.#write((state) => state ?? fresh);
  }

  /** Without effect on a session that has ended. */
  async change(next: (state: SessionState) => SessionState): Promise<void> {
    await this.#write((state) => state && next(state));
  }

  async addRun(runId: string): Promise<void> {
    await this.change((state) => ({ ...state, runs: [...state.runs, runId].slice(-mostRuns) }));
  }

  async follow(uri: string, isSubscribed: boolean): Promise<void> {
    await this.change((state) => {
      const others = state.subscriptions.filter((one) => one !== uri);
      const subscriptions = isSubscribed ? [...others, uri] : others;
      return { ...state, subscriptions: subscriptions.slice(-mostSubscriptions) };
    });
  }

  async end(): Promise<void> {
    const { id: resourceId, store } = this.#place;
    for (;;) {
      const { version } = await this.#read();
      if (version === 0) return;
      const change = { resourceType, resourceId, expectedVersion: version, value: null };
      const removed = await store.changeRecords([change], "mcp").catch(unlessConflict);
      this.#state = undefined;
      if (removed !== undefined) return;
    }
  }

  async #write(next: (state: SessionState | undefined) => SessionState | undefined): Promise<void> {
    const { id: resourceId, now, store } = this.#place;
    for (;;) {
      const { state: before, version } = await this.#read();
      const state = next(before);
      if (state === undefined) return;
      const value = { ...state, until: now() + longestMs };
      const change = { resourceType, resourceId, expectedVersion: version, value };
      const written = await store.changeRecords([change], "mcp").catch(unlessConflict);
      if (written === undefined) continue;
      this.#state = value;
      return;
    }
  }

  async #read(): Promise<{ readonly state: SessionState | undefined; readonly version: number }> {
    const { id, now, owner, store } = this.#place;
    const record = await store.readRecord(resourceType, id);
    const found = readState(record?.value);
    const isOwn = found !== undefined && found.owner === owner && found.until > now();
    this.#state = isOwn ? found : undefined;
    return { state: this.#state, version: record?.version ?? 0 };
  }
}

/** The session that a change of records has ended; undefined: it is about something else. */
export function endedSession(change: {
  readonly record: string;
  readonly after_hash: string | null;
}): string | undefined {
  if (change.after_hash !== null || !isAboutSession(change.record)) return undefined;
  return change.record.slice(resourceType.length + 1);
}

/** Records of sessions say nothing about what clients are offered. */
export function isAboutSession(record: string): boolean {
  return record.startsWith(`${resourceType}/`);
}

/** Undefined for a damaged record, which no request finds. */
function readState(value: unknown): SessionState | undefined {
  return sessionState.safeParse(value).data;
}

function prefixOf(principalId: string): string {
  return `${hashOf(principalId).slice(0, 12)}.`;
}

/** The database holds no id that a client could present. */
function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 32);
}
