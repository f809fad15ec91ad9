import type {
  Client,
  FetchLike,
  JsonSchemaValidatorResult,
  jsonSchemaValidator,
  Transport,
} from "@modelcontextprotocol/client";
import type { Clock } from "../../ports/clock.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import { messageOf, systemReason } from "../../ports/message-of.ts";
import type { Redact } from "../../ports/redact-secrets.ts";
import { cleanLine, cleanText } from "./clean-text.ts";
import type { ServerPlace } from "./contain-server.ts";
import type { ExpandedServer } from "./expand-server.ts";
import { HttpTransport } from "./http-transport.ts";
import { longestMessage } from "./server-process.ts";
import { StdioTransport } from "./stdio-transport.ts";

type Sdk = typeof import("@modelcontextprotocol/client");

/** An initialized connection. */
export interface Session {
  readonly client: Client;
  readonly transport: StdioTransport | HttpTransport;
  /** Whether the server speaks the newer revision of the protocol. */
  readonly isModern: boolean;
}

interface SessionOptions {
  readonly server: ExpandedServer;
  readonly version: string;
  readonly place: ServerPlace;
  readonly timeoutMs: number;
  readonly clock: Clock;
  /** Known from an earlier start of the same server. */
  readonly isModern: boolean;
  onTransport(transport: Session["transport"]): void;
  onClosed(): void;
  onToolsChanged(): void;
}

/**
 * Starts a server and initializes a session. HTTP servers negotiate the protocol revision. Local
 * servers get the older handshake: nearly all understand it, and some exit on any other. A server
 * that knows only the newer revision answers with an error and is started again.
 */
async function openSession(options: SessionOptions): Promise<Session> {
  const sdk = await import("@modelcontextprotocol/client");
  const isLocal = options.server.kind === "stdio";
  try {
    return await greet(sdk, options, isLocal && !options.isModern ? "legacy" : "auto");
  } catch (error) {
    if (isLocal && !options.isModern && error instanceof sdk.ProtocolError) {
      return greet(sdk, options, "auto");
    }
    throw error;
  }
}

async function greet(sdk: Sdk, options: SessionOptions, mode: "legacy" | "auto"): Promise<Session> {
  const transport = openTransport(sdk, options);
  options.onTransport(transport);
  const client = new sdk.Client(
    { name: "mandate", version: options.version },
    {
      // No sampling, elicitation or roots: a server gets calls, and gives answers.
      capabilities: {},
      inputRequired: { autoFulfill: false },
      versionNegotiation: { mode },
      jsonSchemaValidator: noValidation,
    },
  );
  client.onerror = ignore;
  client.setNotificationHandler("notifications/tools/list_changed", () => options.onToolsChanged());
  try {
    await client.connect(transport as Transport, { timeout: options.timeoutMs });
  } catch (error) {
    await transport.close();
    throw error;
  }
  client.onclose = () => options.onClosed();
  return { client, transport, isModern: client.getProtocolEra() === "modern" };
}

function openTransport(
  sdk: Sdk,
  { server, place, clock }: SessionOptions,
): StdioTransport | HttpTransport {
  if (server.kind === "stdio") {
    return new StdioTransport(server, place, sdk.deserializeMessage, clock);
  }
  return new HttpTransport(
    new sdk.StreamableHTTPClientTransport(new URL(server.url), {
      requestInit: { headers: { ...server.headers } },
      fetch: cappedFetch(),
      redirectPolicy: "same-origin",
      onInsufficientScope: "throw",
    }),
    clock,
  );
}

/** Output schemas of servers are untrusted, so they are not compiled; results are text for a model. */
const noValidation: jsonSchemaValidator = {
  getValidator<Value>() {
    return (input: unknown): JsonSchemaValidatorResult<Value> => ({
      valid: true,
      data: input as Value,
      errorMessage: undefined,
    });
  },
};

function ignore(): void {}

/**
 * A fetch that bounds the size of answers while they arrive. The standing GET stream for unrequested
 * messages is not opened: this answers 405 in the server's place. Resuming a reply is allowed.
 */
function cappedFetch(maxBytes: number = longestMessage): FetchLike {
  return async (url, init) => {
    const headers = new Headers(init?.headers);
    if (init?.method === "GET" && !headers.has("last-event-id")) {
      return new Response(null, { status: 405 });
    }
    const response = await fetch(url, init);
    const { body } = response;
    if (body === null || response.type === "opaqueredirect") return response;
    if (Number(response.headers.get("content-length")) > maxBytes) {
      await body.cancel();
      throw tooLarge(maxBytes);
    }
    let bytes = 0;
    const counted = body.pipeThrough(
      new TransformStream<Uint8Array, Uint8Array>({
        transform(chunk, controller) {
          bytes += chunk.byteLength;
          if (bytes > maxBytes) controller.error(tooLarge(maxBytes));
          else controller.enqueue(chunk);
        },
      }),
    );
    const { status, statusText } = response;
    return new Response(counted, { status, statusText, headers: response.headers });
  };
}

function tooLarge(maxBytes: number): Error {
  return new Error(`it sent more than ${maxBytes / 1024 / 1024} MB in one reply`);
}

interface StartOptions extends SessionOptions {
  readonly name: string;
  /** Whether the session is no longer needed. */
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

/** The failure of a server, as words that follow its name. Declared values are hidden. */
export function explain(
  error: unknown,
  transport: Session["transport"] | undefined,
  { server, timeoutMs }: Pick<SessionOptions, "server" | "timeoutMs">,
): string {
  const process = transport instanceof StdioTransport ? transport : null;
  const { inErrors: hide } = server.hidden;
  const reason = reasonOf(error, process?.ended ?? null, { hide, timeoutMs });
  return `${reason.replace(/[.\s]+$/, "")}.${quoteLastWords(hide(process?.lastWords ?? ""))}`;
}

function reasonOf(
  error: unknown,
  ended: string | null,
  { hide, timeoutMs }: { readonly hide: Redact; readonly timeoutMs: number },
): string {
  const code = fieldOf(error, "code");
  const status = fieldOf(fieldOf(error, "data"), "status");
  const safe = (text: string) => cleanLine(hide(text), 500);
  if (typeof status === "number") {
    if (status >= 300 && status < 400) return "redirects to another place, which is not followed";
    if (status === 401 || status === 403) return `refused us (HTTP ${status}); check its headers`;
    const body = fieldOf(fieldOf(error, "data"), "text");
    const said = typeof body === "string" ? safe(body.slice(0, 2000)) : "";
    return said === "" ? `answered with HTTP ${status}` : `answered with HTTP ${status}: ${said}`;
  }
  if (code === "REQUEST_TIMEOUT") return `did not answer within ${timeoutMs} ms`;
  if (code === "UNSUPPORTED_RESULT_TYPE") {
    return "asked for input in the middle of a call, which agents cannot give";
  }
  if (typeof code === "number") return `answered: ${safe(messageOf(error)) || `error ${code}`}`;
  if (error instanceof MandateError) return `cannot be started: ${safe(messageOf(error))}`;
  if (ended !== null) return ended;
  const system = systemCode(error);
  if (system === "ENOENT") return "cannot be started: its command or its folder does not exist";
  if (system === "EACCES") return "cannot be started: its command may not be executed";
  if (system !== undefined) return `cannot be reached: ${systemReason(system) ?? system}`;
  if (code === "CONNECTION_CLOSED") return "closed the connection";
  return `failed: ${safe(messageOf(error)) || "it did not say why"}`;
}

function quoteLastWords(text: string): string {
  const lines = cleanText(text, 16_384)
    .split("\n")
    .map((line) => cleanLine(line, 200))
    .filter((line) => line !== "");
  return lines.length === 0 ? "" : ` It said: ${lines.slice(-5).join(" | ")}`;
}

/** The code of the system's error, however deep the libraries have wrapped it. */
function systemCode(error: unknown): string | undefined {
  let inner = error;
  for (let depth = 0; depth < 5 && inner !== undefined && inner !== null; depth++) {
    const code = fieldOf(inner, "code");
    if (typeof code === "string" && /^(?:E[A-Z]+|UND_ERR_[A-Z_]+|CERT_[A-Z_]+)$/.test(code)) {
      return code;
    }
    inner = fieldOf(inner, "cause") ?? fieldOf(fieldOf(inner, "data"), "cause");
  }
  return undefined;
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null && name in value
    ? (value as Record<string, unknown>)[name]
    : undefined;
}

/** A server that cannot be used now: which one, why, and what to do. */
export class McpUnavailable extends Error {
  readonly server: string;

  constructor(server: string, reason: string, options?: ErrorOptions) {
    super(`The MCP server "${server}" ${reason}`, options);
    this.name = "McpUnavailable";
    this.server = server;
  }
}
