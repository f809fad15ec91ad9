import { describeFailure } from "./describe-failure.ts";
import { McpUnavailable } from "./mcp-unavailable.ts";
import { openSession, type Session, type SessionOptions } from "./open-session.ts";
import { StdioTransport } from "./stdio-transport.ts";

export interface StartOptions extends SessionOptions {
  readonly name: string;
  /** It is no longer needed. */
  isClosed(): boolean;
}

/** Opens a session within the time it has for everything, or says in a sentence why not. */
export async function startSession(options: StartOptions): Promise<Session> {
  const { clock, name, timeoutMs } = options;
  let transport: Session["transport"] | undefined;
  let isLate = false;
  const timer = clock.after(timeoutMs, () => {
    isLate = true;
    void transport?.close();
  });
  try {
    return await openSession({
      ...options,
      onTransport(opened) {
        if (isLate || options.isClosed()) throw new Error("it was stopped while it started");
        transport = opened;
        options.onTransport(opened);
      },
    });
  } catch (error) {
    const cause = isLate ? { code: "REQUEST_TIMEOUT" } : error;
    throw new McpUnavailable(name, explain(cause, transport, options));
  } finally {
    timer.cancel();
  }
}

/** Words that follow the server's name, and quote nothing that was given to it in confidence. */
export function explain(
  error: unknown,
  transport: Session["transport"] | undefined,
  { server, timeoutMs }: Pick<SessionOptions, "server" | "timeoutMs">,
): string {
  const process = transport instanceof StdioTransport ? transport : null;
  return describeFailure(error, {
    timeoutMs,
    hide: server.hidden.inErrors,
    ended: process?.ended ?? null,
    lastWords: process?.lastWords ?? "",
  });
}
