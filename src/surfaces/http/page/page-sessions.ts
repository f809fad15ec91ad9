import { hash, randomBytes } from "node:crypto";
import type { Store } from "../../../ports/store.ts";
import { type EndedSessionStore, EndedSessions } from "./ended-sessions.ts";
import { PageSeal } from "./page-seal.ts";
import { codeMs, readStoredCode, type StoredCodeRefusal, StoredCodes } from "./stored-codes.ts";

export interface PageCode {
  readonly code: string;
  /** Milliseconds; null: until the server ends, for a browser on this machine. */
  readonly validFor: number | null;
}

export interface PageSessionsOptions {
  /** Milliseconds since 1970, since another machine may open what is sealed here. */
  readonly now: () => number;
  readonly store: EndedSessionStore & Pick<Store, "readRecord">;
  /** The key that all servers of the database share; undefined: sessions end with this object. */
  readonly key?: Buffer | undefined;
  /** Only this machine reaches the server, and no proxy has a name for it. */
  readonly isLocal?: boolean | undefined;
}

/** Why a code opens no page. */
export type CodeRefusal = StoredCodeRefusal | "incomplete" | "other-server";

/** A session and the path that its page begins with, or the reason of the refusal. */
export type Exchanged =
  | { readonly session: string; readonly path: string }
  | { readonly refused: CodeRefusal; readonly isTyped: boolean };

export const pageSessionMs = 12 * 3_600_000;

/** A code in the memory of one process: what names the process, and 128 random bits. */
const tagLength = 3;
const localPattern = /^[\w-]{25}$/;
const mostCodes = 1000;

interface KeptCode {
  readonly code: string;
  readonly token: string;
  readonly path: string;
  readonly until: number;
  isUsed: boolean;
}

type Opened =
  | { readonly token: string; readonly path: string }
  | { readonly refused: CodeRefusal; readonly isTyped: boolean };

/**
 * Signs a browser in: a code or a token is exchanged for a session in an HttpOnly cookie. The session
 * stands for the token. The token is checked at every request, so a revoked token or a changed role
 * also counts for the page.
 *
 * The link of a local server is in its memory, and can be used by browsers on this machine until the
 * server ends or a page of the same token signs out. Every other code is stored, and works once at
 * any server of the database. Sessions are sealed, so they survive restarts.
 */
export class PageSessions {
  readonly #seal: PageSeal;
  readonly #now: () => number;
  readonly #stored: StoredCodes;
  readonly #ended: EndedSessions;
  readonly #isLocal: boolean;
  readonly #tag = randomBytes(tagLength).toString("base64url").slice(0, tagLength);
  readonly #codes = new Map<string, KeptCode>();

  constructor({ isLocal = false, key = randomBytes(32), now, store }: PageSessionsOptions) {
    this.#seal = new PageSeal(key);
    this.#now = now;
    this.#stored = new StoredCodes({ store, seal: this.#seal, now });
    this.#isLocal = isLocal;
    this.#ended = new EndedSessions(store, pageSessionMs, now);
  }

  /**
   * Browsers share cookies between the ports of a host, so the name contains the port, or behind one
   * address the name of the key.
   */
  cookieName(port: number): string {
    return `mandate-page-${this.#isLocal ? port : this.#seal.name}`;
  }

  /** The code of a link that any server of the database accepts, or the local one of this machine. */
  async createLink(token: string): Promise<PageCode> {
    if (this.#isLocal) return this.createCode(token);
    return { code: await this.#stored.create("link", token), validFor: codeMs };
  }

  /**
   * A code that this process keeps; at a local server the same one again until it is used from
   * elsewhere. `path`: the page to begin with.
   */
  createCode(token: string, path = "/"): PageCode {
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

  /** A code that a person can type. */
  async createShortCode(token: string): Promise<PageCode> {
    return { code: await this.#stored.create("short", token), validFor: codeMs };
  }

  /** `isLocal`: the request comes from a browser on this machine, through no proxy. */
  async exchange(code: string, { isLocal }: { readonly isLocal: boolean }): Promise<Exchanged> {
    const opened = await this.#open(code, isLocal);
    if ("refused" in opened) return opened;
    return { session: this.begin(opened.token), path: opened.path };
  }

  /** The session of a token that was found valid. */
  begin(token: string): string {
    return this.#seal.seal("session", { token, until: this.#now() + pageSessionMs });
  }

  async #open(text: string, isLocal: boolean): Promise<Opened> {
    if (localPattern.test(text)) return this.#openLocal(text, isLocal);
    const read = readStoredCode(text);
    if (read === undefined) return { refused: "incomplete", isTyped: text.length < shortestLink };
    const used = await this.#stored.use(read.kind, read.code);
    return "refused" in used
      ? { ...used, isTyped: read.kind === "short" }
      : { token: used.token, path: "/" };
  }

  #openLocal(code: string, isLocal: boolean): Opened {
    const refuse = (refused: CodeRefusal): Opened => ({ refused, isTyped: false });
    const kept = this.#codes.get(nameOf(code));
    if (kept === undefined) return refuse(code.startsWith(this.#tag) ? "wrong" : "other-server");
    if (isLocal && this.#isLocal) return kept;
    if (kept.isUsed) return refuse("used");
    if (kept.until <= this.#now()) return refuse("expired");
    kept.isUsed = true;
    return kept;
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
}

/** Shorter texts were typed; others are pieces of links. */
const shortestLink = 18;

/** The stored name of a secret. */
function nameOf(secret: string): string {
  return hash("sha256", secret);
}
