import { isJsonContentType, isLegacyRequest } from "@modelcontextprotocol/server";
import type { Principal } from "../../../control/records/principal.ts";
import { parseStrictJson, type StrictJson } from "../../../control/records/strict-json.ts";
import { type Clock, systemClock } from "../../../ports/clock.ts";
import { type HttpService, isOwnedBy, jsonRpcError } from "./http-client.ts";
import { LegacyEndpoint } from "./legacy-endpoint.ts";
import { ModernEndpoint } from "./modern-endpoint.ts";

export interface McpHttpOptions<Session> extends HttpService<Session> {
  /** How long an unused session without open work is kept. Default: 30 minutes. */
  readonly idleMs?: number | undefined;
  /** Most sessions of one principal, for each generation of the protocol. */
  readonly maxSessionsPerPrincipal?: number | undefined;
  readonly maxMessageBytes?: number | undefined;
  readonly clock?: Clock | undefined;
  /** Called with internal errors. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

export interface McpHttpHandler {
  /**
   * Answers one request of an authenticated principal. Host, origin and token were checked before;
   * sessions and tasks of other principals are invisible.
   */
  handle(request: Request, principal: Principal): Promise<Response>;
  /** Closes everything of a principal whose token was revoked. */
  forget(principalId: string): Promise<void>;
  /** Closes what this server holds of a stored session that another server has ended. */
  endStored(id: string): Promise<void>;
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
      // Clients get no details of internal errors.
      return jsonRpcError(500, -32_603, "Internal error");
    }
  }

  return {
    handle,
    async forget(principalId) {
      const isConcerned = (owner: string): boolean => isOwnedBy(owner, principalId);
      await Promise.all([legacy.end(isConcerned), modern.end(isConcerned)]);
    },
    endStored: (id) => legacy.endStored(id),
    async close() {
      isClosed = true;
      legacy.stop();
      modern.stop();
      await Promise.all([legacy.end(), modern.end()]);
    },
  };
}

export type ReadMessage = { readonly message: unknown } | { readonly refused: Response };

/** Reads the message of a request. Its size is limited before it is parsed. */
async function readMessage(request: Request, maxBytes: number): Promise<ReadMessage> {
  if (request.method !== "POST") return { message: undefined };
  if (!isJsonContentType(request.headers.get("content-type"))) {
    return refuse(415, -32_000, "The content type must be application/json.");
  }
  const body = await readBody(request, maxBytes);
  if (body === "too-large") {
    return refuse(413, -32_000, `A message may have at most ${maxBytes} bytes.`);
  }
  const parsed = body === "unreadable" ? notText : parse(body.bytes);
  if ("problem" in parsed)
    return refuse(400, -32_700, `The body cannot be read: ${parsed.problem}.`);
  const message = parsed.value;
  // Batches were removed from the protocol with 2025-06-18.
  if (Array.isArray(message)) return refuse(400, -32_600, "Send one message in each request.");
  if (typeof message !== "object" || message === null) {
    return refuse(400, -32_600, "A message is a JSON object.");
  }
  const problem = problemOf(message);
  return problem === undefined ? { message } : refuse(400, -32_600, problem);
}

/** Checks JSON-RPC itself: the SDK reports all of these as a parse error. */
function problemOf(message: object): string | undefined {
  const { jsonrpc, id, method } = message as Readonly<Record<string, unknown>>;
  if (jsonrpc !== "2.0") return 'A message must have jsonrpc: "2.0".';
  if (method !== undefined && typeof method !== "string") return "A method must be a string.";
  if (id === undefined || typeof id === "string" || Number.isSafeInteger(id)) return undefined;
  return "An id must be a string or a whole number.";
}

async function readBody(
  request: Request,
  maxBytes: number,
): Promise<{ readonly bytes: Uint8Array } | "too-large" | "unreadable"> {
  if (Number(request.headers.get("content-length") ?? 0) > maxBytes) return "too-large";
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of request.body ?? []) {
      size += chunk.byteLength;
      if (size > maxBytes) return "too-large";
      chunks.push(chunk);
    }
  } catch {
    return "unreadable";
  }
  return { bytes: Buffer.concat(chunks) };
}

/** JSON is checked value by value on the event loop, so its size is limited. */
const shapeOfJson = { depth: 64, values: 50_000 };
const notText = { problem: "no UTF-8" };

function parse(bytes: Uint8Array): StrictJson {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return parseStrictJson(text, { bytes: bytes.length, ...shapeOfJson });
  } catch {
    return notText;
  }
}

function refuse(status: number, code: number, message: string): ReadMessage {
  return { refused: jsonRpcError(status, code, message) };
}
