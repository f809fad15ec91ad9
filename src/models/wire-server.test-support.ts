/** For tests: a provider that says exactly what it is told, down to where the line breaks. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface WireServer {
  readonly url: string;
  /** What was asked, newest last. */
  readonly bodies: string[];
  answer: (response: ServerResponse) => void;
  /** What was asked of the endpoints that count tokens, newest last. */
  readonly counts: { readonly path: string; readonly body: string }[];
  /** Absent: there are no such endpoints. */
  count?: (response: ServerResponse) => void;
  /** What it says when it is asked for its models; absent: there is no such endpoint. */
  list?: string;
  close(): void;
}

export async function startWireServer(): Promise<WireServer> {
  const server = createServer(async (request, response) => {
    const body = await readBody(request);
    const path = request.url ?? "";
    if (/count_tokens|countTokens|input_tokens/.test(path)) {
      wire.counts.push({ path, body });
      if (wire.count) wire.count(response);
      else response.writeHead(404).end("{}");
      return;
    }
    if (request.method === "GET" && path.endsWith("/models")) {
      response.writeHead(wire.list ? 200 : 404).end(wire.list ?? "{}");
      return;
    }
    wire.bodies.push(body);
    wire.answer(response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const wire: WireServer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    bodies: [],
    counts: [],
    answer: (response) => response.end(),
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
  return wire;
}

async function readBody(request: IncomingMessage): Promise<string> {
  let body = "";
  for await (const chunk of request) body += chunk;
  return body;
}

/** Sends events as a provider streams them; `after` decides how the connection ends. */
export function sendEvents(
  response: ServerResponse,
  events: readonly object[],
  after?: (response: ServerResponse) => void,
): void {
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const event of events) {
    const { type } = event as { type?: string };
    const name = type === undefined ? "" : `event: ${type}\n`;
    response.write(`${name}data: ${JSON.stringify(event)}\n\n`);
  }
  if (after === undefined) response.end();
  // The events must have left before the connection is cut.
  else setTimeout(() => after(response), 20);
}
