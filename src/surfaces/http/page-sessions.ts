import { hash, randomBytes } from "node:crypto";

export interface PageCode {
  readonly code: string;
  /** Milliseconds. */
  readonly validFor: number;
}

interface Entry {
  readonly token: string;
  readonly until: number;
}

const codeMs = 60_000;
export const pageSessionMs = 12 * 3_600_000;
/** Of each kind; whoever asks for more pushes out the oldest. */
const mostEntries = 1000;

/**
 * How a page in a browser gets in without ever holding the access token: it is opened with a code
 * that works once, and exchanges it for a session in a cookie that no script can read. A session
 * stands for the token that the code was made with, which is asked anew at every request: what is
 * revoked, or has another role now, is so for the page as well. Both end with the process.
 */
export class PageSessions {
  readonly #monotonic: () => number;
  readonly #codes = new Map<string, Entry>();
  readonly #sessions = new Map<string, Entry>();

  constructor(monotonic: () => number) {
    this.#monotonic = monotonic;
  }

  createCode(token: string): PageCode {
    const code = randomText();
    this.#keep(this.#codes, code, { token, until: this.#monotonic() + codeMs });
    return { code, validFor: codeMs };
  }

  /** The session's secret, once for each code; undefined for every other text. */
  exchange(code: string): string | undefined {
    const entry = this.#find(this.#codes, code);
    this.#codes.delete(keyOf(code));
    if (entry === undefined) return undefined;
    const session = randomText();
    const until = this.#monotonic() + pageSessionMs;
    this.#keep(this.#sessions, session, { token: entry.token, until });
    return session;
  }

  /** The access token that a session stands for. */
  tokenOf(session: string): string | undefined {
    return this.#find(this.#sessions, session)?.token;
  }

  end(session: string): void {
    this.#sessions.delete(keyOf(session));
  }

  #find(entries: Map<string, Entry>, secret: string): Entry | undefined {
    const key = keyOf(secret);
    const entry = entries.get(key);
    if (entry === undefined || entry.until > this.#monotonic()) return entry;
    entries.delete(key);
    return undefined;
  }

  #keep(entries: Map<string, Entry>, secret: string, entry: Entry): void {
    entries.set(keyOf(secret), entry);
    const [oldest] = entries.keys();
    if (entries.size > mostEntries && oldest !== undefined) entries.delete(oldest);
  }
}

function randomText(): string {
  return randomBytes(32).toString("base64url");
}

/** Looked up by hash: how long that takes says nothing about the secret. */
function keyOf(secret: string): string {
  return hash("sha256", secret);
}
