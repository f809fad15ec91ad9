import { hash } from "node:crypto";
import type { IdempotencyStore } from "../../../ports/store.ts";
import { keptForMs } from "../do-once.ts";
import { type EndedSessionStore, EndedSessions } from "../ended-sessions.ts";
import { PageSeal } from "./page-seal.ts";

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
