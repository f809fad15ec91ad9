import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { RunningWorker } from "../../start-worker.ts";

export interface HealthServer {
  readonly port: number;
  close(): Promise<void>;
}

/** For whoever starts and stops workers: whether this one lives, and what it does. */
export async function serveHealth(
  port: number | undefined,
  worker: Pick<RunningWorker, "isDraining" | "names" | "running">,
): Promise<HealthServer | undefined> {
  if (port === undefined) return undefined;
  const server = createServer((request, response) => {
    const isKnown = request.method === "GET" && request.url === "/health";
    const status = worker.isDraining ? "draining" : "working";
    // One that takes nothing more is not to be given work, and not to be restarted for that.
    response.writeHead(isKnown ? (worker.isDraining ? 503 : 200) : 404, {
      "content-type": "application/json",
    });
    const { names, running } = worker;
    response.end(isKnown ? JSON.stringify({ status, running, queues: names }) : "{}");
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
