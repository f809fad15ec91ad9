import { once } from "node:events";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";

export interface TokenProxy {
  readonly url: string;
  close(): Promise<void>;
}

/**
 * Adds a token to every request, because the official suite has none, and passes the rest on as it
 * is: where the suite lies about its host or origin, the server behind has to see that.
 */
export async function startTokenProxy(target: string, token: string): Promise<TokenProxy> {
  const { host, hostname, pathname, port } = new URL(target);
  const server = createServer((incoming, outgoing) => {
    const ownHost = `127.0.0.1:${own.port}`;
    const headers = {
      ...incoming.headers,
      ...(incoming.headers.host === ownHost && { host }),
      ...(incoming.headers.origin === `http://${ownHost}` && { origin: `http://${host}` }),
      authorization: `Bearer ${token}`,
    };
    const { method } = incoming;
    const passedOn = request({ hostname, port, path: pathname, method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    passedOn.on("error", () => outgoing.destroy());
    outgoing.on("close", () => passedOn.destroy());
    incoming.pipe(passedOn);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const own = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${own.port}${pathname}`,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
