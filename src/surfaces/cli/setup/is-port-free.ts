import { createServer } from "node:net";

/** Whether somebody could listen at this port of this machine now. */
export function isPortFree(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const server = createServer();
  server.once("error", () => resolve(false));
  server.listen({ port, host: "127.0.0.1" }, () => server.close(() => resolve(true)));
  return promise;
}
