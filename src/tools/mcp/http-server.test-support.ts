import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import {
  createMcpHandler,
  type McpServer,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";

export interface HttpTestServer {
  readonly url: string;
  /** One for each request, in order. */
  readonly requests: readonly { readonly method: string; readonly headers: Headers }[];
  close(): Promise<void>;
}

type Answer = (request: Request) => Promise<Response>;

/** Both revisions of the protocol, or the newer one alone; without sessions. */
export function statelessly(factory: () => McpServer, legacy: "stateless" | "reject"): Answer {
  const handler = createMcpHandler(factory, { legacy });
  return (request) => handler.fetch(request);
}

/** The older revision, with sessions, which `forget` ends. */
export function withSessions(factory: () => McpServer): Answer & { forget(): void } {
  const sessions = new Map<string, WebStandardStreamableHTTPServerTransport>();
  const answer = async (request: Request): Promise<Response> => {
    const id = request.headers.get("mcp-session-id");
    const known = id === null ? undefined : sessions.get(id);
    if (known) return known.handleRequest(request);
    if (id !== null) return new Response("unknown session", { status: 404 });
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => crypto.randomUUID(),
      onsessioninitialized: (opened) => {
        sessions.set(opened, transport);
      },
    });
    await factory().connect(transport);
    return transport.handleRequest(request);
  };
  return Object.assign(answer, { forget: () => sessions.clear() });
}

/** A real server on the loopback interface. */
export async function serveHttp(answer: Answer): Promise<HttpTestServer> {
  const requests: { method: string; headers: Headers }[] = [];
  const listener: RequestListener = async (incoming, outgoing) => {
    const gone = new AbortController();
    outgoing.once("close", () => gone.abort());
    const request = await toRequest(incoming, gone.signal);
    requests.push({ method: request.method, headers: request.headers });
    const response = await answer(request);
    outgoing.writeHead(response.status, Object.fromEntries(response.headers));
    // Now, so that a client sees the beginning of a stream.
    outgoing.flushHeaders();
    try {
      for await (const chunk of response.body ?? []) {
        if (!outgoing.write(chunk)) await new Promise((resolve) => outgoing.once("drain", resolve));
      }
      outgoing.end();
    } catch {
      outgoing.destroy();
    }
  };
  const server = createServer((incoming, outgoing) => void listener(incoming, outgoing));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    requests,
    close() {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

async function toRequest(incoming: IncomingMessage, signal: AbortSignal): Promise<Request> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk);
  const { method = "GET", headers, url = "/" } = incoming;
  return new Request(new URL(url, `http://${headers.host}`), {
    method,
    headers: Object.entries(headers).map(([name, value]): [string, string] => [
      name,
      String(value),
    ]),
    signal,
    ...(method === "POST" && { body: Buffer.concat(chunks) }),
  });
}
