import type { McpServer, Server, ServerNotifier } from "@modelcontextprotocol/server";
import type { Principal } from "../../../control/records/principal.ts";
import { headOf } from "../../../text.ts";
import type { Era } from "../client-abilities.ts";
import type { Tasks } from "../tasks/tasks.ts";

/** Who talks to us over HTTP. */
export interface HttpClient {
  readonly principal: Principal;
  /** As it calls itself; not to be trusted. */
  readonly name: string;
  readonly era: Era;
}

/** What the HTTP endpoint needs to know of the server that it serves. */
export interface HttpService<Session> {
  /** What a client holds between its requests: the run that keeps what it delegates. */
  openSession(client: HttpClient): Session | Promise<Session>;
  closeSession(session: Session): void | Promise<void>;
  /** Whether something still works below it. */
  isBusy(session: Session): boolean | Promise<boolean>;
  /** A new server for one request (2026-07-28) or one session (2025-11-25), used by nobody else. */
  makeServer(session: Session, client: HttpClient): ServedServer | Promise<ServedServer>;
  /** Where calls of its servers go on as tasks. */
  readonly tasks?: Tasks | undefined;
  /** Tells of changes that the principal may know of, until what it gave is called. */
  watch?: ((principal: Principal, notify: ServerNotifier) => () => void) | undefined;
}

export type ServedServer = McpServer | Server;

/**
 * Stands for a principal as it is now. What was opened with another role or other scopes belongs,
 * from then on, to nobody: authority that was taken away is not used up first.
 */
export function ownerKeyOf({ allRuns, id, role, scopes }: Principal): string {
  return JSON.stringify([id, role, scopes ?? "*", allRuns === true]);
}

/** Whether an owner's key is that of a principal, whatever its role was. */
export function isOwnedBy(ownerKey: string, principalId: string): boolean {
  return ownerKey.startsWith(`[${JSON.stringify(principalId)},`);
}

const maxNameLength = 100;

export function clientNameOf(info: unknown): string {
  const name = (info as { readonly name?: unknown } | null | undefined)?.name;
  const isName = typeof name === "string" && name.trim() !== "";
  return isName ? headOf(name.trim(), maxNameLength) : "unknown client";
}

/** What is answered to a message that no server was asked about. */
export function jsonRpcError(status: number, code: number, message: string): Response {
  return Response.json({ jsonrpc: "2.0", error: { code, message }, id: null }, { status });
}

/** The same for one that never was, one that is over, and one of somebody else. */
export function sessionNotFound(): Response {
  return jsonRpcError(404, -32_001, "Session not found");
}

/** What a client has not read yet may grow this far; then it is let go, and the memory with it. */
const maxBacklog = 2 * 1024 * 1024;

/**
 * Passes a stream of events on, and counts: the SDK queues without end for a client that does not
 * read. One event passes however large it is, where what waits before it is within the limit.
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
      // The client was faster: it has closed the stream.
    }
  }
}
