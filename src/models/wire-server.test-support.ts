/** For tests: a provider that says exactly what it is told, down to where the line breaks. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface WireServer {
  readonly url: string;
  /** What was asked, newest last. */
  readonly bodies: string[];
  answer: (response: ServerResponse) => void;
  close(): void;
}

export async function startWireServer(): Promise<WireServer> {
  const server = createServer(async (request, response) => {
    wire.bodies.push(await readBody(request));
    wire.answer(response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const wire: WireServer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    bodies: [],
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
