import { createCipheriv, createDecipheriv, createHmac, hash, randomBytes } from "node:crypto";
import type { ControlRecord } from "../../../ports/record-store.ts";
import type { IdempotencyStore, Store } from "../../../ports/store.ts";
import { keptForMs } from "../do-once.ts";

export interface PageCode {
  readonly code: string;
  /** Milliseconds; null: until the server ends, for a browser on this machine. */
  readonly validFor: number | null;
}

export interface PageSessionsOptions {
  /** Milliseconds since 1970, since another machine may open what is sealed here. */
  readonly now: () => number;
  readonly store: EndedSessionStore & { readonly idempotency: IdempotencyStore };
  /** Shared by all servers behind one address; undefined: a random key of this process. */
  readonly key?: Buffer | undefined;
  /** Only this machine reaches the server, and no proxy has a name for it. */
  readonly isLocal?: boolean | undefined;
}

/** Why a code opens no page. */
export type CodeRefusal = "expired" | "incomplete" | "other-server" | "used" | "wrong";

/** A session and the path that its page begins with, or the reason why there is none. */
export type Exchanged =
  | { readonly session: string; readonly path: string }
  | { readonly refused: CodeRefusal };

const sealedCodeMs = 60_000;
const codeMs = 600_000;
export const pageSessionMs = 12 * 3_600_000;

/** No token can have this name, so these keys never collide with those of programs. */
const codeKeeper = ":page-code";

/** A code of this process: what names the process, and 128 random bits. */
const tagLength = 3;
const codePattern = /^[\w-]{25}$/;
const mostCodes = 1000;

interface KeptCode {
  readonly code: string;
  readonly token: string;
  readonly path: string;
  readonly until: number;
  isUsed: boolean;
}

/**
 * Signs a browser in without giving it the access token: the page is opened with a code, and
 * exchanges it for a session in an HttpOnly cookie. A browser on this machine can use the code until
 * the server ends or a page of the same token signs out, any other one once. The session stands for the token that made the code. The token
 * is checked at every request, so a revoked token or a changed role also counts for the page.
 *
 * Codes are kept in memory, by their hash. With a key that several servers share, a code contains
 * the token, sealed, and works once at any of them. Sessions are always sealed: with a shared key
 * they survive restarts, with a key of this process they end with it.
 */
export class PageSessions {
  readonly #seal: PageSeal;
  readonly #now: () => number;
  readonly #once: IdempotencyStore;
  readonly #ended: EndedSessions;
  readonly #isShared: boolean;
  readonly #isLocal: boolean;
  readonly #tag = randomBytes(tagLength).toString("base64url").slice(0, tagLength);
  readonly #codes = new Map<string, KeptCode>();

  constructor({ isLocal = false, key, now, store }: PageSessionsOptions) {
    this.#seal = new PageSeal(key);
    this.#now = now;
    this.#once = store.idempotency;
    this.#isShared = key !== undefined;
    this.#isLocal = isLocal && !this.#isShared;
    this.#ended = new EndedSessions(this.#isShared ? store : undefined, pageSessionMs, now);
  }

  /**
   * Browsers share cookies between the ports of a host, so the name contains the port, or the name
   * of a shared key.
   */
  cookieName(port: number): string {
    return `mandate-page-${this.#isShared ? this.#seal.name : port}`;
  }

  /** `path`: the page to begin with. A local server gives the same code until it is used from elsewhere. */
  createCode(token: string, path = "/"): PageCode {
    if (this.#isShared) {
      const until = this.#now() + sealedCodeMs;
      return { code: this.#seal.seal("code", { token, until }), validFor: sealedCodeMs };
    }
    const isSame = (kept: KeptCode): boolean =>
      kept.token === token && kept.path === path && !kept.isUsed && kept.until > this.#now();
    const before = this.#isLocal ? [...this.#codes.values()].find(isSame) : undefined;
    const code = before?.code ?? this.#tag + randomBytes(16).toString("base64url");
    const until = this.#now() + codeMs;
    this.#codes.set(nameOf(code), { code, token, path, until, isUsed: false });
    const [oldest] = this.#codes.keys();
    if (this.#codes.size > mostCodes && oldest !== undefined) this.#codes.delete(oldest);
    return { code, validFor: this.#isLocal ? null : codeMs };
  }

  /** `isLocal`: the request comes from a browser on this machine, through no proxy. */
  async exchange(code: string, { isLocal }: { readonly isLocal: boolean }): Promise<Exchanged> {
    const opened = this.#isShared ? await this.#openSealed(code) : this.#open(code, isLocal);
    if ("refused" in opened) return opened;
    const until = this.#now() + pageSessionMs;
    const session = this.#seal.seal("session", { token: opened.token, until });
    return { session, path: opened.path };
  }

  #open(code: string, isLocal: boolean): Opened {
    if (!codePattern.test(code)) return { refused: "incomplete" };
    const kept = this.#codes.get(nameOf(code));
    if (kept === undefined) {
      return { refused: code.startsWith(this.#tag) ? "wrong" : "other-server" };
    }
    if (isLocal && this.#isLocal) return kept;
    if (kept.isUsed) return { refused: "used" };
    if (kept.until <= this.#now()) return { refused: "expired" };
    kept.isUsed = true;
    return kept;
  }

  async #openSealed(code: string): Promise<Opened> {
    const opened = this.#seal.open("code", code);
    if (opened === undefined) return { refused: "wrong" };
    if (opened.until <= this.#now()) return { refused: "expired" };
    if (!(await this.#isFirst(code))) return { refused: "used" };
    return { token: opened.token, path: "/" };
  }

  /** The access token of a session; undefined when the session is invalid, expired or ended. */
  async tokenOf(session: string): Promise<string | undefined> {
    const opened = this.#seal.open("session", session);
    if (opened === undefined || opened.until <= this.#now()) return undefined;
    return (await this.#ended.has(nameOf(session), opened.until)) ? undefined : opened.token;
  }

  async end(session: string): Promise<void> {
    const opened = this.#seal.open("session", session);
    if (opened === undefined || opened.until <= this.#now()) return;
    for (const [name, { token }] of this.#codes) {
      if (token === opened.token) this.#codes.delete(name);
    }
    await this.#ended.add(nameOf(session), opened.until);
  }

  close(): void {
    this.#ended.close();
  }

  /** True once for each code, over all servers. */
  async #isFirst(code: string): Promise<boolean> {
    const key = { principal: codeKeeper, key: nameOf(code) };
    const request = { ...key, fingerprint: codeKeeper };
    // Uses the same retention as ordinary keys, since the store deletes all older ones.
    const { is } = await this.#once.begin(request, this.#now() - keptForMs);
    if (is !== "begun") return false;
    // The code counts as used already; finishing the key only lets the store delete it later.
    await this.#once.finish(key, { status: 204, body: "" }).catch(() => undefined);
    return true;
  }
}

type Opened = Pick<KeptCode, "path" | "token"> | { readonly refused: CodeRefusal };

/** The stored name of a secret. */
function nameOf(secret: string): string {
  return hash("sha256", secret);
}

/** The kind is sealed in: a code cannot be used as a session. */
export type SealedKind = "code" | "session";

export interface Sealed {
  /** The access token of the session. */
  readonly token: string;
  /** Milliseconds since 1970. */
  readonly until: number;
}

const version = 1;
const nonceBytes = 12;
const tagBytes = 16;
const timeBytes = 8;

/** Above the longest sealed text: tokens have at most 512 characters. */
export const mostSealedCharacters = 1000;

/**
 * Encrypts codes and sessions (AES-256-GCM), so that every server with the same key can open them
 * and none has to store them. Their holder can neither read nor change them.
 */
export class PageSeal {
  readonly #key: Buffer;

  constructor(key: Buffer = randomBytes(32)) {
    this.#key = key;
  }

  /** A name that is the same for all servers with this key, and reveals nothing about the key. */
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

  /** Undefined for everything that was not sealed with this kind and key. */
  open(kind: SealedKind, text: string): Sealed | undefined {
    if (text.length > mostSealedCharacters) return undefined;
    const bytes = Buffer.from(text, "base64url");
    // Each sealed text has one spelling: used codes and ended sessions are recognized by their
    // text.
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
/**
 * Most ended sessions in memory; above it, all sessions that expire before the oldest of them count
 * as ended.
 */
const mostEnded = 10_000;
const mostForgotten = 200;

export type EndedSessionStore = Pick<Store, "listRecords" | "changeRecords" | "subscribe">;

/**
 * Page sessions that were ended before they expired. A sealed session is valid on every server with
 * its key, so ended ones are stored as records. Every server is notified of them, and a request
 * only reads memory. Without a store they are those of this process.
 */
export class EndedSessions {
  readonly #store: EndedSessionStore | undefined;
  readonly #longestMs: number;
  readonly #now: () => number;
  readonly #ended = new Map<string, number>();
  readonly #unsubscribe: (() => void) | undefined;
  /** Sessions that expire up to this time count as ended, also those that are not in memory. */
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
        // The event does not have the expiry, so the longest possible one is assumed.
        this.#remember(payload.record.slice(prefix.length), this.#now() + this.#longestMs);
      }
    });
  }

  /** Throws when the store cannot be read: then the session is refused. */
  async has(name: string, until: number): Promise<boolean> {
    if (this.#store !== undefined) await this.#load(this.#store);
    return until <= this.#allUntil || this.#ended.has(name);
  }

  /** Ended here at once, and on all other servers when this resolves. */
  async add(name: string, until: number): Promise<void> {
    this.#remember(name, until);
    if (this.#store === undefined) return;
    const change = { resourceType, resourceId: name, expectedVersion: 0, value: { until } };
    try {
      await this.#store.changeRecords([change], "page");
    } catch (error) {
      // Another request ended the same session.
      if ((error as { readonly code?: unknown }).code !== "conflict") throw error;
    }
  }

  close(): void {
    this.#unsubscribe?.();
  }

  /** Reads once what was ended before the subscription. */
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
    // On a conflict another server is deleting the same records.
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
