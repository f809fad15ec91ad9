import { isDeepStrictEqual } from "node:util";
import type { AccessTokens } from "../../control/access/access-tokens.ts";
import type { Principal } from "../../control/records/principal.ts";
import type { Clock, Timer } from "../../ports/clock.ts";
import type { Caller } from "./guard.ts";
import type { PageSessions } from "./page/page-sessions.ts";

export interface OpenRequest {
  /** Aborts when the client is gone, or the server stops. */
  readonly signal: AbortSignal;
  /** From here on it goes on without its client, who will ask again. */
  detach(): void;
  /** The answer is complete. */
  end(): void;
}

/** The requests that are being answered, so that all of them can be told when the server stops. */
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
    for (const controller of this.#open) controller.abort(new Error("The server stops."));
  }
}

interface OpenAnswer {
  readonly caller: Caller;
  cut(): void;
}

const usualCheckMs = 1000;

/**
 * Answers that take long: streams of events, MCP, whoever waits for a run. A token is looked at when
 * a request comes in; one that is revoked, replaced or runs out while it is answered must not be
 * told anything more, so it is looked at again for as long as something is open on it.
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

  /** Gives what is called when the answer is complete. */
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
      // Another role or other scopes are another access: what was opened with the old one ends.
      for (const { caller, cut } of answers) {
        if (!isSame(caller.principal, now) || (await this.#hasLeft(caller))) cut();
      }
    }
  }

  /** A page that ended its session; its token may still be good elsewhere. */
  async #hasLeft({ session, token }: Caller): Promise<boolean> {
    if (session === undefined) return false;
    return (await this.#pages.tokenOf(session).catch(() => undefined)) !== token;
  }

  /** Whoever cannot be recognized is nobody. */
  async #holderOf(token: string): Promise<Principal | undefined> {
    return this.#tokens.authenticate(token).catch(() => undefined);
  }
}

function isSame(one: Principal, other: Principal | undefined): boolean {
  return isDeepStrictEqual(one, other);
}
