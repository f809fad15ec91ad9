import { createCipheriv, createDecipheriv, createHmac, hash, randomBytes } from "node:crypto";
import type { ControlRecord } from "../../../ports/record-store.ts";
import type { IdempotencyStore, Store } from "../../../ports/store.ts";
import { keptForMs } from "../do-once.ts";

export interface PageCode {
  readonly code: string;
  /** Milliseconds. */
  readonly validFor: number;
}

export interface PageSessionsOptions {
  /** Milliseconds since 1970: what is sealed here may be opened by another machine. */
  readonly now: () => number;
  readonly store: EndedSessionStore & { readonly idempotency: IdempotencyStore };
  /** That of all servers behind one address; undefined: one of this process alone. */
  readonly key?: Buffer | undefined;
}

const codeMs = 60_000;
export const pageSessionMs = 12 * 3_600_000;

/** No token has such a name, so no program's key is ever one of these. */
const codeKeeper = ":page-code";

/**
 * How a page in a browser gets in without ever holding the access token: it is opened with a code
 * that works once, and exchanges it for a session in a cookie that no script can read. A session
 * stands for the token that the code was made with, which is asked anew at every request: what is
 * revoked, or has another role now, is so for the page as well.
 *
 * Both carry what they stand for, sealed. Under a key that servers share each is good at every one
 * of them, and outlives them; under a key of this process both end with it.
 */
export class PageSessions {
  readonly #seal: PageSeal;
  readonly #now: () => number;
  readonly #once: IdempotencyStore;
  readonly #ended: EndedSessions;
  readonly #isShared: boolean;

  constructor({ key, now, store }: PageSessionsOptions) {
    this.#seal = new PageSeal(key);
    this.#now = now;
    this.#once = store.idempotency;
    this.#isShared = key !== undefined;
    this.#ended = new EndedSessions(this.#isShared ? store : undefined, pageSessionMs, now);
  }

  /**
   * Cookies of all ports of a machine are in one jar: the name keeps two servers apart, unless they
   * are one to their clients.
   */
  cookieName(port: number): string {
    return `mandate-page-${this.#isShared ? this.#seal.name : port}`;
  }

  createCode(token: string): PageCode {
    const until = this.#now() + codeMs;
    return { code: this.#seal.seal("code", { token, until }), validFor: codeMs };
  }

  /** The session's secret, once for each code; undefined for every other text. */
  async exchange(code: string): Promise<string | undefined> {
    const opened = this.#seal.open("code", code);
    if (opened === undefined || opened.until <= this.#now()) return undefined;
    if (!(await this.#isFirst(code))) return undefined;
    const until = this.#now() + pageSessionMs;
    return this.#seal.seal("session", { token: opened.token, until });
  }

  /** The access token that a session stands for. */
  async tokenOf(session: string): Promise<string | undefined> {
    const opened = this.#seal.open("session", session);
    if (opened === undefined || opened.until <= this.#now()) return undefined;
    return (await this.#ended.has(nameOf(session), opened.until)) ? undefined : opened.token;
  }

  async end(session: string): Promise<void> {
    const opened = this.#seal.open("session", session);
    if (opened === undefined || opened.until <= this.#now()) return;
    await this.#ended.add(nameOf(session), opened.until);
  }

  close(): void {
    this.#ended.close();
  }

  /** Of all servers that are shown a code, one is the first. */
  async #isFirst(code: string): Promise<boolean> {
    const key = { principal: codeKeeper, key: nameOf(code) };
    const request = { ...key, fingerprint: codeKeeper };
    // What is older than this is forgotten of everybody, so it is no shorter than for anybody else.
    const { is } = await this.#once.begin(request, this.#now() - keptForMs);
    if (is !== "begun") return false;
    // It counts as used already; from here on it may also be forgotten some day.
    await this.#once.finish(key, { status: 204, body: "" }).catch(() => undefined);
    return true;
  }
}

/** What is written down of a secret. */
function nameOf(secret: string): string {
  return hash("sha256", secret);
}

/** What a sealed text is: one cannot be presented as the other. */
export type SealedKind = "code" | "session";

export interface Sealed {
  /** The access token that it stands for. */
  readonly token: string;
  /** Milliseconds since 1970. */
  readonly until: number;
}

const version = 1;
const nonceBytes = 12;
const tagBytes = 16;
const timeBytes = 8;

/** The longest that a text can be which we sealed: tokens have at most 512 characters. */
export const mostSealedCharacters = 1000;

/**
 * Texts that carry what they stand for, so that any server with the same key understands them and
 * none has to remember them. Whoever has one can neither read nor change it.
 */
export class PageSeal {
  readonly #key: Buffer;

  constructor(key: Buffer = randomBytes(32)) {
    this.#key = key;
  }

  /** Tells servers with this key from others, and says nothing about it. */
  get name(): string {
    return createHmac("sha256", this.#key).update("mandate page name").digest("hex").slice(0, 12);
  }

  seal(kind: SealedKind, { token, until }: Sealed): string {
    const nonce = randomBytes(nonceBytes);
    const cipher = createCipheriv("aes-256-gcm", this.#key, nonce).setAAD(contextOf(kind));
    const time = Buffer.alloc(timeBytes);
    time.writeDoubleBE(until);
    const hidden = [cipher.update(time), cipher.update(token, "utf8"), cipher.final()];
    const parts = [Buffer.of(version), nonce, ...hidden, cipher.getAuthTag()];
    return Buffer.concat(parts).toString("base64url");
  }

  /** Undefined for whatever was not sealed as this kind under this key. */
  open(kind: SealedKind, text: string): Sealed | undefined {
    if (text.length > mostSealedCharacters) return undefined;
    const bytes = Buffer.from(text, "base64url");
    // One spelling for each: what was used or ended is known by its text.
    if (bytes.toString("base64url") !== text) return undefined;
    if (bytes[0] !== version || bytes.length < 1 + nonceBytes + timeBytes + tagBytes) {
      return undefined;
    }
    const nonce = bytes.subarray(1, 1 + nonceBytes);
    const tag = bytes.subarray(bytes.length - tagBytes);
    const decipher = createDecipheriv("aes-256-gcm", this.#key, nonce, { authTagLength: tagBytes })
      .setAAD(contextOf(kind))
      .setAuthTag(tag);
    try {
      const hidden = bytes.subarray(1 + nonceBytes, bytes.length - tagBytes);
      const plain = Buffer.concat([decipher.update(hidden), decipher.final()]);
      return { until: plain.readDoubleBE(0), token: plain.toString("utf8", timeBytes) };
    } catch {
      return undefined;
    }
  }
}

function contextOf(kind: SealedKind): Buffer {
  return Buffer.from(`mandate page ${kind} ${version}`);
}

const resourceType = "ended-page-session";
/** Remembered at most; beyond, all that would end before the oldest of them has ended as well. */
const mostEnded = 10_000;
const mostForgotten = 200;

export type EndedSessionStore = Pick<Store, "listRecords" | "changeRecords" | "subscribe">;

/**
 * Sessions of pages that were ended before their time. A sealed session is good wherever its key is,
 * so each server has to know these: they are records, which all of them hear of, and what a request
 * asks is memory alone. Without a store they are those of this process.
 */
export class EndedSessions {
  readonly #store: EndedSessionStore | undefined;
  readonly #longestMs: number;
  readonly #now: () => number;
  readonly #ended = new Map<string, number>();
  readonly #unsubscribe: (() => void) | undefined;
  /** Sessions that last no longer than this have ended, whether they are remembered or not. */
  #allUntil = 0;
  #loading: Promise<void> | undefined;

  constructor(store: EndedSessionStore | undefined, longestMs: number, now: () => number) {
    this.#store = store;
    this.#longestMs = longestMs;
    this.#now = now;
    const prefix = `${resourceType}/`;
    this.#unsubscribe = store?.subscribe((events) => {
      for (const { payload, type } of events) {
        if (type !== "control.record_changed" || payload.after_hash === null) continue;
        if (!payload.record.startsWith(prefix)) continue;
        // How long it would have lasted is not said; longer than that it cannot be.
        this.#remember(payload.record.slice(prefix.length), this.#now() + this.#longestMs);
      }
    });
  }

  /** Throws when it cannot be known: then nobody is let in. */
  async has(name: string, until: number): Promise<boolean> {
    if (this.#store !== undefined) await this.#load(this.#store);
    return until <= this.#allUntil || this.#ended.has(name);
  }

  /** Here at once; where there is a store, for all others when this resolves. */
  async add(name: string, until: number): Promise<void> {
    this.#remember(name, until);
    if (this.#store === undefined) return;
    const change = { resourceType, resourceId: name, expectedVersion: 0, value: { until } };
    try {
      await this.#store.changeRecords([change], "page");
    } catch (error) {
      // Two that end the same one.
      if ((error as { readonly code?: unknown }).code !== "conflict") throw error;
    }
  }

  close(): void {
    this.#unsubscribe?.();
  }

  /** What was ended before we listened, once. */
  #load(store: EndedSessionStore): Promise<void> {
    this.#loading ??= this.#read(store).catch((error: unknown) => {
      this.#loading = undefined;
      throw error;
    });
    return this.#loading;
  }

  async #read(store: EndedSessionStore): Promise<void> {
    const over: ControlRecord[] = [];
    for (const record of await store.listRecords(resourceType)) {
      const until = untilOf(record) ?? this.#now() + this.#longestMs;
      if (until <= this.#now()) over.push(record);
      else this.#remember(record.resourceId, until);
    }
    const changes = over.slice(0, mostForgotten).map(({ resourceId, version }) => {
      return { resourceType, resourceId, expectedVersion: version, value: null };
    });
    // Another server may be tidying up as well: then it does it.
    if (changes.length > 0) await store.changeRecords(changes, "page").catch(() => undefined);
  }

  #remember(name: string, until: number): void {
    this.#ended.set(name, Math.min(until, this.#ended.get(name) ?? until));
    if (this.#ended.size <= mostEnded) return;
    for (const [one, end] of this.#ended) if (end <= this.#now()) this.#ended.delete(one);
    while (this.#ended.size > mostEnded) {
      const [oldest] = this.#ended;
      if (oldest === undefined) return;
      this.#ended.delete(oldest[0]);
      this.#allUntil = Math.max(this.#allUntil, oldest[1]);
    }
  }
}

function untilOf({ value }: ControlRecord): number | undefined {
  const until = (value as { readonly until?: unknown } | null)?.until;
  return typeof until === "number" ? until : undefined;
}
