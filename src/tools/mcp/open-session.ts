import type {
  Client,
  FetchLike,
  JsonSchemaValidatorResult,
  jsonSchemaValidator,
  Transport,
} from "@modelcontextprotocol/client";
import type { Clock } from "../../ports/clock.ts";
import type { ExpandedServer } from "./expand-server.ts";
import { HttpTransport } from "./http-transport.ts";
import { longestMessage } from "./server-process.ts";
import { StdioTransport } from "./stdio-transport.ts";

type Sdk = typeof import("@modelcontextprotocol/client");

/** A connection that was greeted and answered. */
export interface Session {
  readonly client: Client;
  readonly transport: StdioTransport | HttpTransport;
  /** It speaks the newer revision of the protocol. */
  readonly isModern: boolean;
}

export interface SessionOptions {
  readonly server: ExpandedServer;
  readonly version: string;
  /** Below this folder a local server gets an empty one to start in. */
  readonly folder: string;
  readonly timeoutMs: number;
  readonly clock: Clock;
  /** Known from an earlier start of the same server. */
  readonly isModern: boolean;
  onTransport(transport: Session["transport"]): void;
  onClosed(): void;
  onToolsChanged(): void;
}

/**
 * Starts a server and greets it. HTTP servers are asked first which revision they speak, as the
 * protocol proposes. Local ones are greeted in the older way: nearly all understand it, some end at
 * the sight of anything else, and those that know the newer one alone say so and are started again.
 */
export async function openSession(options: SessionOptions): Promise<Session> {
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
  { server, folder, clock }: SessionOptions,
): StdioTransport | HttpTransport {
  if (server.kind === "stdio") {
    return new StdioTransport(server, folder, sdk.deserializeMessage, clock);
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

/** Results are text for a model; foreign schemas are not compiled here. */
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
 * Fetch with a bound on what comes back, counted while it arrives. The standing stream, on which a
 * server could send unrequested messages, is not opened: this answers for the server that it has
 * none. Resuming the reply to a request is let through.
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
