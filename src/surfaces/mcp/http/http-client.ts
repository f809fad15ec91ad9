import type { McpServer, Server, ServerNotifier } from "@modelcontextprotocol/server";
import type { Principal } from "../../../control/records/principal.ts";
import type { Era } from "../client-abilities.ts";
import type { Tasks } from "../tasks/tasks.ts";
import type { StoredSession, StoredSessions } from "./stored-sessions.ts";

/** A client over HTTP. */
export interface HttpClient {
  readonly principal: Principal;
  /** The name that the client gives itself; untrusted. */
  readonly name: string;
  readonly era: Era;
  /** Absent: its session ends with this server. */
  readonly stored?: StoredSession | undefined;
}

/** What the HTTP endpoint needs from the product. */
export interface HttpService<Session> {
  /** Opens what a client holds between its requests. */
  openSession(client: HttpClient): Session | Promise<Session>;
  closeSession(session: Session): void | Promise<void>;
  /** Whether a delegation of the session is open. */
  isBusy(session: Session): boolean | Promise<boolean>;
  /** Makes a server for one request (2026-07-28) or one session (2025-11-25). */
  makeServer(session: Session, client: HttpClient): ServedServer | Promise<ServedServer>;
  /** Where sessions are stored for other servers of the database; absent: nowhere. */
  readonly stored?: StoredSessions | undefined;
  /** The tasks of the client's servers. */
  readonly tasks?: Tasks | undefined;
  /** Notifies of changes that the principal may see, until the returned function is called. */
  watch?: ((principal: Principal, notify: ServerNotifier) => () => void) | undefined;
}

export type ServedServer = McpServer | Server;

/**
 * The key of a principal with its current role and scopes. After a change of either, sessions under
 * the old key are unreachable, so withdrawn authority cannot be used any more.
 */
export function ownerKeyOf({ allRuns, id, role, scopes }: Principal): string {
  return JSON.stringify([id, role, scopes ?? "*", allRuns === true]);
}

/** Whether a key belongs to a principal, with any role. */
export function isOwnedBy(ownerKey: string, principalId: string): boolean {
  return ownerKey.startsWith(`[${JSON.stringify(principalId)},`);
}

/** An error response that no server made. */
export function jsonRpcError(status: number, code: number, message: string): Response {
  return Response.json({ jsonrpc: "2.0", error: { code, message }, id: null }, { status });
}

/** One response for unknown, ended and foreign sessions, so that it reveals nothing. */
export function sessionNotFound(): Response {
  return jsonRpcError(404, -32_001, "Session not found");
}

/** The most unread output of a client; above it the stream is dropped. */
const maxBacklog = 2 * 1024 * 1024;

/**
 * Limits the unread output of an event stream, since the SDK's queue has no limit. A single event
 * may be larger than the limit when nothing waits before it.
 */
export function boundStream(response: Response, onEnd: () => void): Response {
  const { body, headers, status } = response;
  if (body === null || !headers.get("content-type")?.startsWith("text/event-stream")) {
    onEnd();
    return response;
  }
  const reader = body.getReader();
  const bounded = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        void pump(reader, controller).finally(onEnd);
      },
      async cancel(reason) {
        await reader.cancel(reason).catch(() => undefined);
      },
    },
    new ByteLengthQueuingStrategy({ highWaterMark: maxBacklog }),
  );
  return new Response(bounded, { status, headers });
}

async function pump(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  controller: ReadableStreamDefaultController<Uint8Array>,
): Promise<void> {
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return controller.close();
      const room = controller.desiredSize ?? 0;
      if (room < maxBacklog && room < value.byteLength)
        throw new Error("The client does not read.");
      controller.enqueue(value);
    }
  } catch (error) {
    await reader.cancel(error).catch(() => undefined);
    try {
      controller.error(error);
    } catch {
      // The client has closed the stream already.
    }
  }
}
