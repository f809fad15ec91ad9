import type { ServerResponse } from "node:http";
import type { Principal } from "../../control/records/principal.ts";

/**
 * Something that answers by itself behind the same guard as the routes: streams of events, metrics,
 * the MCP endpoint. When it is called, host, origin, token, role and rates have been checked.
 */
export type Mount = (
  request: Request,
  principal: Principal,
  context: MountContext,
) => Promise<Response>;

export interface MountContext {
  /** The parameters of the path, decoded. */
  readonly params: Readonly<Record<string, string>>;
  /**
   * The connection itself, for those who have to see whether a client takes what it is sent; absent
   * where there is none, as in a test without a socket.
   */
  readonly outgoing: ServerResponse | undefined;
  /** It comes from the page, with the page's cookie: a person looks at it. */
  readonly isPage: boolean;
  /** Aborts when the client is gone, or the server stops. */
  readonly signal: AbortSignal;
}
