import type { Client, Tool as ServerTool } from "@modelcontextprotocol/client";
import { type Clock, untilAborted } from "../../ports/clock.ts";
import type { ToolResult } from "../tool.ts";
import type { AcceptedTool } from "./accept-tools.ts";
import type { ServerPlace } from "./contain-server.ts";
import type { ExpandedServer } from "./expand-server.ts";
import { HttpTransport } from "./http-transport.ts";
import { explain, McpUnavailable, type Session, startSession } from "./open-session.ts";
import { renderResult } from "./render-result.ts";
import { StdioTransport } from "./stdio-transport.ts";

interface ConnectionOptions {
  readonly name: string;
  /** Equal definitions have equal keys. */
  readonly key: string;
  readonly server: ExpandedServer;
  readonly version: string;
  readonly place: ServerPlace;
  readonly startTimeoutMs: number;
  readonly failures: FailureLimit;
  readonly clock: Clock;
}

interface CallOptions {
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
}

/**
 * The connection to one server, opened on demand. When the server dies, open calls fail, and the next
 * call starts it again. A call is repeated only when the server refused it for an unknown session.
 */
export class McpConnection {
  readonly #options: ConnectionOptions;
  readonly #listing: ToolListing;
  #session: Promise<Session> | null = null;
  #transport: Session["transport"] | null = null;
  readonly #ending = new Set<Promise<void>>();
  #isModern = false;
  #isClosed = false;

  constructor(options: ConnectionOptions) {
    this.#options = options;
    this.#listing = new ToolListing(() => this.#list());
  }

  /** The server's tools, requested again where the list may have changed. */
  listTools(): Promise<ListedTools> {
    return this.#listing.read();
  }

  /** Rejects only with the signal's reason; whatever the server does is a result. */
  async call(tool: AcceptedTool, input: unknown, options: CallOptions): Promise<ToolResult> {
    const { signal, timeoutMs } = options;
    for (let isSecond = false; ; isSecond = true) {
      let session: Session | undefined;
      try {
        session = await untilAborted(signal, this.#ready());
        return await this.#ask(session, tool, input, options);
      } catch (error) {
        signal.throwIfAborted();
        const failed = { text: this.#complaint(error, timeoutMs, session), isError: true };
        if (!hasForgottenUs(error, session)) return failed;
        this.#lose(session.transport);
        if (isSecond) return failed;
      }
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const starting = this.#session?.catch(ignore);
    await this.#transport?.close();
    await Promise.all([starting, ...this.#ending]);
  }

  async #ask(
    { client, transport }: Session,
    tool: AcceptedTool,
    input: unknown,
    { signal, timeoutMs }: CallOptions,
  ): Promise<ToolResult> {
    const result = await client.callTool(
      { name: tool.name, arguments: input as Record<string, unknown> },
      {
        signal,
        timeout: timeoutMs,
        // The definition that was shown to the model, not the server's current one.
        toolDefinition: { name: tool.name, inputSchema: { ...tool.parameters, type: "object" } },
      },
    );
    const rendered = renderResult(result, this.#options.server.hidden.inResults);
    const connections = transport instanceof StdioTransport && transport.takeConnections();
    return { ...rendered, ...(connections && { connections }) };
  }

  #complaint(error: unknown, timeoutMs: number, session: Session | undefined): string {
    if (error instanceof McpUnavailable) return error.message;
    const { name, server } = this.#options;
    const reason = explain(error, session?.transport, { server, timeoutMs });
    return new McpUnavailable(name, reason).message;
  }

  async #list(): Promise<{ listed: ListedTools; isLasting: boolean }> {
    const { name, server, startTimeoutMs: timeoutMs } = this.#options;
    const { client, transport, isModern } = await this.#ready();
    try {
      const listed = await listTools(client, timeoutMs);
      // Only a local server of the older revision says by itself that its list has changed.
      return { listed, isLasting: transport instanceof StdioTransport && !isModern };
    } catch (error) {
      throw new McpUnavailable(name, explain(error, transport, { server, timeoutMs }));
    }
  }

  #ready(): Promise<Session> {
    if (this.#session !== null) return this.#session;
    const starting = this.#start();
    this.#session = starting;
    starting.catch(() => {
      if (this.#session === starting) this.#session = null;
    });
    return starting;
  }

  async #start(): Promise<Session> {
    const { clock, name, key, server, version, place, startTimeoutMs, failures } = this.#options;
    if (this.#isClosed) throw new McpUnavailable(name, "is no longer open for this delegation.");
    const wait = failures.waitFor(key);
    if (wait > 0) {
      const seconds = Math.ceil(wait / 1000);
      throw new McpUnavailable(name, `failed too often; it is tried again in ${seconds} s.`);
    }
    try {
      const session = await startSession({
        name,
        server,
        version,
        place,
        timeoutMs: startTimeoutMs,
        clock,
        isModern: this.#isModern,
        isClosed: () => this.#isClosed,
        onTransport: (transport) => {
          this.#transport = transport;
        },
        onClosed: () => this.#lose(session.transport),
        onToolsChanged: () => this.#listing.forget(),
      });
      this.#isModern = session.isModern;
      return session;
    } catch (error) {
      if (!this.#isClosed) failures.note(key);
      throw error;
    }
  }

  /** The next call reconnects, unless one has already done so. */
  #lose(transport: Session["transport"]): void {
    if (this.#transport !== transport || this.#isClosed) return;
    this.#transport = null;
    this.#session = null;
    this.#listing.forget();
    this.#options.failures.note(this.#options.key);
    // A server's process may have left children, which are ended before `close` resolves.
    const ending = transport.close().finally(() => this.#ending.delete(ending));
    this.#ending.add(ending);
  }
}

/** The answer of a restarted server that keeps sessions: it did not execute the call. */
function hasForgottenUs(error: unknown, session: Session | undefined): session is Session {
  const hadSession = session?.transport instanceof HttpTransport && session.transport.sessionId;
  if (!hadSession || !(error instanceof Error) || !("status" in error)) return false;
  return error.status === 404 || error.status === 400;
}

function ignore(): void {}

/**
 * A server's list of tools. Concurrent callers share one request. The list is cached only where the
 * server announces changes, and dropped at such an announcement.
 */
class ToolListing {
  readonly #ask: () => Promise<Asked>;
  #current: Promise<ListedTools> | null = null;

  constructor(ask: () => Promise<Asked>) {
    this.#ask = ask;
  }

  read(): Promise<ListedTools> {
    if (this.#current !== null) return this.#current;
    const current = this.#ask().then(
      ({ listed, isLasting }) => {
        if (!isLasting && this.#current === current) this.#current = null;
        return listed;
      },
      (error) => {
        if (this.#current === current) this.#current = null;
        throw error;
      },
    );
    this.#current = current;
    return current;
  }

  /** Drops the list of tools and any request for it in flight, which may return the old list. */
  forget(): void {
    this.#current = null;
  }
}

interface Asked {
  readonly listed: ListedTools;
  readonly isLasting: boolean;
}

const mostTools = 500;

const mostPages = 100;

interface ListedTools {
  readonly tools: readonly ServerTool[];
  readonly isCut: boolean;
}

/** Requests all pages of a server's list, up to a limit: a hostile cursor may never end. */
async function listTools(client: Client, timeoutMs: number): Promise<ListedTools> {
  if (client.getServerCapabilities()?.tools === undefined) return { tools: [], isCut: false };
  const tools: ServerTool[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < mostPages; page++) {
    const params = cursor === undefined ? {} : { cursor };
    // The SDK's own paging is not used: it has no limit on tools and writes to the console.
    const answer = await client.request({ method: "tools/list", params }, { timeout: timeoutMs });
    tools.push(...answer.tools.slice(0, mostTools - tools.length + 1));
    if (tools.length > mostTools) break;
    if (answer.nextCursor === undefined || answer.nextCursor === cursor) {
      return { tools, isCut: false };
    }
    cursor = answer.nextCursor;
  }
  return { tools: tools.slice(0, mostTools), isCut: true };
}

const mostFailures = 5;
const windowMs = 60_000;

/** Counts recent failures of each server: after a few, a broken server is not started for a while. */
export class FailureLimit {
  readonly #clock: Clock;
  readonly #failures = new Map<string, number[]>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  note(key: string): void {
    this.#failures.set(key, [...this.#recent(key), this.#clock.monotonic()]);
  }

  /** How long until it may be started again; 0: now. */
  waitFor(key: string): number {
    const recent = this.#recent(key);
    const oldest = recent.at(-mostFailures);
    return oldest === undefined ? 0 : Math.ceil(oldest + windowMs - this.#clock.monotonic());
  }

  #recent(key: string): number[] {
    const since = this.#clock.monotonic() - windowMs;
    const recent = (this.#failures.get(key) ?? []).filter((at) => at > since);
    if (recent.length === 0) this.#failures.delete(key);
    return recent;
  }
}
