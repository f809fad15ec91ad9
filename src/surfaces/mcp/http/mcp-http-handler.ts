import { isLegacyRequest } from "@modelcontextprotocol/server";
import type { Principal } from "../../../control/records/principal.ts";
import { type Clock, systemClock } from "../../../ports/clock.ts";
import { type HttpService, isOwnedBy } from "./http-client.ts";
import { jsonRpcError } from "./json-rpc-error.ts";
import { LegacyEndpoint } from "./legacy-endpoint.ts";
import { ModernEndpoint } from "./modern-endpoint.ts";
import { readMessage } from "./read-message.ts";

export interface McpHttpOptions<Session> extends HttpService<Session> {
  /** How long a session is kept that nobody uses and below which nothing works. Default: 30 min. */
  readonly idleMs?: number | undefined;
  /** Sessions of one principal, of each generation of the protocol. */
  readonly maxSessionsPerPrincipal?: number | undefined;
  readonly maxMessageBytes?: number | undefined;
  readonly clock?: Clock | undefined;
  /** Told what no client did wrong. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

export interface McpHttpHandler {
  /**
   * Answers one request of somebody whom the caller has authenticated. Host, Origin and token were
   * looked at before; session ids and task ids of other principals do not exist here.
   */
  handle(request: Request, principal: Principal): Promise<Response>;
  /** Ends all that a principal has open: for one whose token was revoked. */
  forget(principalId: string): Promise<void>;
  close(): Promise<void>;
}

/** MCP over streamable HTTP, in both generations of the protocol, at one address. */
export function createMcpHttpHandler<Session>(options: McpHttpOptions<Session>): McpHttpHandler {
  const limits = {
    idleMs: options.idleMs ?? 30 * 60_000,
    maxPerOwner: options.maxSessionsPerPrincipal ?? 64,
    clock: options.clock ?? systemClock,
  };
  const maxBytes = options.maxMessageBytes ?? 4 * 1024 * 1024;
  const legacy = new LegacyEndpoint(options, limits);
  const modern = new ModernEndpoint(options, limits);
  let isClosed = false;

  async function handle(request: Request, principal: Principal): Promise<Response> {
    if (isClosed) return jsonRpcError(503, -32_000, "The server is being stopped.");
    const read = await readMessage(request, maxBytes);
    if ("refused" in read) return read.refused;
    const { message } = read;
    try {
      const isLegacy = await isLegacyRequest(request, message);
      return await (isLegacy ? legacy : modern).handle(request, principal, message);
    } catch (error) {
      options.onError?.(error);
      // What went wrong inside is nobody's business outside.
      return jsonRpcError(500, -32_603, "Internal error");
    }
  }

  return {
    handle,
    async forget(principalId) {
      const isConcerned = (owner: string): boolean => isOwnedBy(owner, principalId);
      await Promise.all([legacy.end(isConcerned), modern.end(isConcerned)]);
    },
    async close() {
      isClosed = true;
      legacy.stop();
      modern.stop();
      await Promise.all([legacy.end(), modern.end()]);
    },
  };
}
