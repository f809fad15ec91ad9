import { once } from "node:events";
import type { Server } from "node:net";
import { MandateError } from "../../ports/mandate-error.ts";

/** Listens, or says why that is not possible; `option` is how another port is chosen. */
export async function listen(
  server: Server,
  { hostname, option, port }: { hostname: string; option: string; port: number },
): Promise<void> {
  server.listen({ port, host: hostname });
  try {
    await once(server, "listening");
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    const what =
      code === "EADDRINUSE"
        ? `Port ${port} is already in use.`
        : `Cannot listen on port ${port} at ${hostname}: ${code}.`;
    throw new MandateError("usage", `${what} Choose another port with ${option}.`, { cause });
  }
}
