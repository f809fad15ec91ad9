import { createServer, request as httpRequest } from "node:http";
import type { AddressInfo } from "node:net";

/** Several servers behind one address: every request goes to the next one. */
export interface RoundRobin extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  /** Servers by the port that they listen at; the first request goes to the first. */
  target(ports: readonly number[]): void;
  /** To which of them the last request went. */
  readonly last: number;
}

export async function startRoundRobin(): Promise<RoundRobin> {
  let ports: readonly number[] = [];
  let count = 0;
  let last = -1;
  const server = createServer((incoming, outgoing) => {
    last = count++ % ports.length;
    const { headers, method, url: path } = incoming;
    const port = ports[last];
    const there = httpRequest({ host: "127.0.0.1", port, method, path, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    there.on("error", () => outgoing.destroy());
    outgoing.on("close", () => there.destroy());
    incoming.pipe(there);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    target(given) {
      ports = given;
    },
    get last() {
      return last;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
