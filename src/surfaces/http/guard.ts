import type { AccessTokens } from "../../control/access/access-tokens.ts";
import type { Principal } from "../../control/records/principal.ts";
import type { AllowedHosts } from "./allowed-hosts.ts";
import { mostSealedCharacters } from "./page/page-seal.ts";
import type { PageSessions } from "./page/page-sessions.ts";
import { HttpProblem } from "./problem.ts";

export interface GuardOptions {
  readonly tokens: Pick<AccessTokens, "authenticate">;
  readonly pages: PageSessions;
  readonly allowed: AllowedHosts;
  readonly cookieName: string;
  readonly monotonic: () => number;
  /** The limit of requests for each principal. */
  readonly rate?: Rate | undefined;
  /** The limit of invalid tokens and codes, by client address. */
  readonly failureRate?: Rate | undefined;
}

/** An authenticated principal and the token it came with. */
export interface Caller {
  readonly principal: Principal;
  readonly token: string;
  /** The session in the page's cookie; undefined: the request carried the token itself. */
  readonly session: string | undefined;
}

const usualRate: Rate = { perSecond: 100, burst: 200 };
const usualFailureRate: Rate = { perSecond: 1, burst: 20 };

/**
 * Checks every request but those for static files, before any of its body is read. In this order:
 * host, origin, identity, rate.
 */
export class Guard {
  readonly #options: GuardOptions;
  readonly #principals: RateLimiter;
  readonly #failures: RateLimiter;

  constructor(options: GuardOptions) {
    const { rate = usualRate, failureRate = usualFailureRate, monotonic } = options;
    this.#options = options;
    this.#principals = new RateLimiter(rate, monotonic);
    this.#failures = new RateLimiter(failureRate, monotonic);
  }

  checkHost(request: Request): void {
    checkHost(provenanceOf(request), this.#options.allowed);
  }

  checkPlace(request: Request): void {
    const provenance = provenanceOf(request);
    checkHost(provenance, this.#options.allowed);
    checkOrigin(provenance, this.#options.allowed);
    if (request.method === "OPTIONS") {
      // CORS is not supported: no other origin is granted anything, so preflights are refused.
      throw new HttpProblem("method-not-allowed", "This server grants nothing to other origins.", {
        headers: { allow: "GET, POST, PUT, DELETE" },
      });
    }
  }

  /**
   * Authenticates a request. Throws for a missing or unknown token, and above the principal's rate.
   */
  async identify(request: Request, address: string): Promise<Caller> {
    const credentials = await this.#credentialsOf(request);
    if (credentials === undefined) throw unauthenticated("A token is required.");
    const { session, token } = credentials;
    const principal = await this.#authenticate(token);
    if (principal === undefined) {
      this.refuseGuesser(address);
      throw unauthenticated("This token is unknown, expired or revoked.", true);
    }
    const wait = this.#principals.take(principal.id);
    if (wait > 0) throw tooMany(wait);
    return { principal, token, session };
  }

  /** Charges an expensive request: its cost is taken from the principal's following requests. */
  charge({ id }: Principal, cost: number): void {
    this.#principals.spend(id, cost);
  }

  /** For the exchange of a sign-in code, which has no token: only our own page may send it. */
  checkPage(request: Request): void {
    if (isSameOrigin(provenanceOf(request))) return;
    throw new HttpProblem("forbidden", "Only a page of this server can begin a session.");
  }

  /**
   * Counts an invalid token or code, and throws above the limit. Valid ones are never delayed: all
   * users of one machine share an address, and one of them could lock out the others. Tokens have
   * 256 random bits, so guessing is not the risk.
   */
  refuseGuesser(address: string): void {
    const wait = this.#failures.take(address);
    if (wait > 0) throw tooMany(wait);
  }

  async isValidToken(token: string): Promise<boolean> {
    return (await this.#authenticate(token)) !== undefined;
  }

  /** The session in a request's cookie, not validated. */
  sessionOf(request: Request): string | undefined {
    const cookies = request.headers.get("cookie")?.split(";") ?? [];
    const prefix = `${this.#options.cookieName}=`;
    const own = cookies
      .map((cookie) => cookie.trim())
      .filter((cookie) => cookie.startsWith(prefix));
    // Another program on this machine may have set a cookie of the same name: then neither counts.
    const end = prefix.length + mostSealedCharacters;
    return own.length === 1 ? own[0]?.slice(prefix.length, end) : undefined;
  }

  /** An Authorization header decides; the cookie is ignored beside it. */
  async #credentialsOf(request: Request): Promise<Pick<Caller, "session" | "token"> | undefined> {
    const authorization = request.headers.get("authorization");
    if (authorization !== null) {
      const [, token] = /^bearer +([\w.~+/=-]{1,512})$/i.exec(authorization) ?? [];
      if (token === undefined)
        throw unauthenticated('"Authorization" must be: Bearer TOKEN.', true);
      return { token, session: undefined };
    }
    const session = this.sessionOf(request);
    if (session === undefined) return undefined;
    if (!isSameOrigin(provenanceOf(request))) {
      throw new HttpProblem("forbidden", "A page session is valid only for requests of that page.");
    }
    const token = await this.#options.pages.tokenOf(session);
    if (token === undefined) throw unauthenticated("The session has ended. Open the page again.");
    return { token, session };
  }

  async #authenticate(token: string): Promise<Principal | undefined> {
    try {
      return await this.#options.tokens.authenticate(token);
    } catch (cause) {
      // The cause may name files of this machine: it goes into the log, not into the response.
      throw new Error("Tokens cannot be checked.", { cause });
    }
  }
}

function unauthenticated(detail: string, isWrong = false): HttpProblem {
  const challenge = `Bearer realm="mandate"${isWrong ? ', error="invalid_token"' : ""}`;
  return new HttpProblem("unauthenticated", detail, { headers: { "www-authenticate": challenge } });
}

function tooMany(seconds: number): HttpProblem {
  return new HttpProblem("too-many-requests", `Too many requests. Wait ${seconds} s.`, {
    headers: { "retry-after": String(seconds) },
  });
}

/** The headers that say where a request comes from; null: the header is missing. */
export interface Provenance {
  readonly host: string | null;
  readonly origin: string | null;
  /** Sec-Fetch-Site: browsers set it, and no page can. */
  readonly site: string | null;
}

export function provenanceOf(request: Request): Provenance {
  return {
    // Requests over a socket always have one; a request that a test makes has only its URL.
    host: request.headers.get("host") ?? new URL(request.url).host,
    origin: request.headers.get("origin"),
    site: request.headers.get("sec-fetch-site"),
  };
}

/**
 * Refuses foreign host names: a page whose DNS name was pointed at this machine sends its own name.
 */
function checkHost({ host }: Provenance, allowed: AllowedHosts): void {
  if (host !== null && allowed.hasHost(host)) return;
  throw new HttpProblem(
    "host-unknown",
    "This server does not answer to that host name. Use its address, or start it with --allow-host NAME.",
  );
}

/**
 * Refuses requests from pages of other sites, also with a valid token. Programs send no Origin
 * header, so a missing one is accepted; they need a token anyway.
 */
function checkOrigin({ origin, site }: Provenance, allowed: AllowedHosts): void {
  const isForeign = origin !== null && !allowed.hasOrigin(origin);
  const isCrossSite = site !== null && site !== "same-origin" && site !== "none";
  if (!isForeign && !isCrossSite) return;
  throw new HttpProblem("forbidden", "Requests from pages of other sites are refused.");
}

/**
 * Whether our own page sent the request. Browsers send cookies also to other ports of a host, so a
 * cookie counts only together with this check.
 */
function isSameOrigin({ host, origin, site }: Provenance): boolean {
  if (host === null) return false;
  if (origin === null) return site === "same-origin";
  const [, rest] = /^https?:\/\/(.+)$/.exec(origin) ?? [];
  return rest === host.toLowerCase();
}

/** `burst` requests at once, and `perSecond` more with every second. */
export interface Rate {
  readonly perSecond: number;
  readonly burst: number;
}

interface Bucket {
  tokens: number;
  at: number;
}

/** Most buckets kept: invented names must not fill the memory. */
const mostBuckets = 10_000;

/** A token bucket for each name: every request takes a token, and time restores them. */
export class RateLimiter {
  readonly #rate: Rate;
  readonly #monotonic: () => number;
  readonly #buckets = new Map<string, Bucket>();

  constructor(rate: Rate, monotonic: () => number) {
    this.#rate = rate;
    this.#monotonic = monotonic;
  }

  /** Takes a token. Returns 0, or the seconds until the next token. */
  take(name: string): number {
    const wait = this.secondsToWait(name);
    if (wait === 0) this.#bucketOf(name).tokens -= 1;
    return wait;
  }

  /** Takes tokens even below zero: the next requests wait until they are restored. */
  spend(name: string, amount: number): void {
    this.#bucketOf(name).tokens -= amount;
  }

  /** The wait for a token, without taking one. */
  secondsToWait(name: string): number {
    const { tokens } = this.#bucketOf(name);
    return tokens >= 1 ? 0 : Math.max(1, Math.ceil((1 - tokens) / this.#rate.perSecond));
  }

  #bucketOf(name: string): Bucket {
    const { burst, perSecond } = this.#rate;
    const now = this.#monotonic();
    const bucket = this.#buckets.get(name) ?? { tokens: burst, at: now };
    bucket.tokens = Math.min(burst, bucket.tokens + ((now - bucket.at) / 1000) * perSecond);
    bucket.at = now;
    // Reinserted at the end, so that the least recently used bucket is dropped first.
    this.#buckets.delete(name);
    this.#buckets.set(name, bucket);
    if (this.#buckets.size > mostBuckets) {
      const [oldest] = this.#buckets.keys();
      if (oldest !== undefined) this.#buckets.delete(oldest);
    }
    return bucket;
  }
}
