import { isDeepStrictEqual } from "node:util";
import type { AccessTokens } from "../../control/access/access-tokens.ts";
import type { Principal } from "../../control/records/principal.ts";
import type { Clock, Timer } from "../../ports/clock.ts";
import type { Caller } from "./guard.ts";
import type { PageSessions } from "./page/page-sessions.ts";

export interface OpenRequest {
  /** Aborts when the client disconnects or the server stops. */
  readonly signal: AbortSignal;
  /** Lets the work continue when the client disconnects: the client will ask again. */
  detach(): void;
  /** Called when the response is complete. */
  end(): void;
}

/** The open requests; all of them are aborted when the server stops. */
export class OpenRequests {
  readonly #open = new Set<AbortController>();
  #isStopping = false;

  get isStopping(): boolean {
    return this.#isStopping;
  }

  begin(client: AbortSignal): OpenRequest {
    const controller = new AbortController();
    const abort = (): void => controller.abort(client.reason);
    const detach = (): void => client.removeEventListener("abort", abort);
    if (client.aborted) abort();
    else client.addEventListener("abort", abort, { once: true });
    this.#open.add(controller);
    return {
      signal: controller.signal,
      detach,
      end: () => {
        detach();
        this.#open.delete(controller);
      },
    };
  }

  stop(): void {
    this.#isStopping = true;
    for (const controller of this.#open) controller.abort(new Error("The server is stopping."));
  }
}

interface OpenAnswer {
  readonly caller: Caller;
  cut(): void;
}

const usualCheckMs = 1000;

/**
 * Checks the tokens behind long responses (event streams, MCP, waiting for a run) again and again:
 * a token that is revoked, replaced or expired during a response must not receive anything more.
 */
export class OpenAccess {
  readonly #tokens: Pick<AccessTokens, "authenticate">;
  readonly #pages: Pick<PageSessions, "tokenOf">;
  readonly #clock: Clock;
  readonly #checkMs: number;
  readonly #open = new Set<OpenAnswer>();
  #timer: Timer | undefined;

  constructor(
    tokens: Pick<AccessTokens, "authenticate">,
    pages: Pick<PageSessions, "tokenOf">,
    clock: Clock,
    checkMs: number = usualCheckMs,
  ) {
    this.#tokens = tokens;
    this.#pages = pages;
    this.#clock = clock;
    this.#checkMs = checkMs;
  }

  /** Returns the function to call when the response is complete. */
  begin(caller: Caller, cut: () => void): () => void {
    const answer = { caller, cut };
    this.#open.add(answer);
    this.#timer ??= this.#clock.every(this.#checkMs, () => void this.#check()).unref();
    return () => {
      this.#open.delete(answer);
      if (this.#open.size > 0) return;
      this.#timer?.cancel();
      this.#timer = undefined;
    };
  }

  async #check(): Promise<void> {
    const byToken = Map.groupBy(this.#open, ({ caller }) => caller.token);
    for (const [token, answers] of byToken) {
      const now = await this.#holderOf(token);
      // A changed role or scope ends what was opened with the old one.
      for (const { caller, cut } of answers) {
        if (!isSame(caller.principal, now) || (await this.#hasLeft(caller))) cut();
      }
    }
  }

  /** Whether the page signed out; its token may still be valid elsewhere. */
  async #hasLeft({ session, token }: Caller): Promise<boolean> {
    if (session === undefined) return false;
    return (await this.#pages.tokenOf(session).catch(() => undefined)) !== token;
  }

  /** A failed check counts as an invalid token. */
  async #holderOf(token: string): Promise<Principal | undefined> {
    return this.#tokens.authenticate(token).catch(() => undefined);
  }
}

function isSame(one: Principal, other: Principal | undefined): boolean {
  return isDeepStrictEqual(one, other);
}
