import { isIP } from "node:net";

/** What a failed connection says of itself; one that was tried by several ways holds one of each. */
interface SocketError {
  readonly code?: unknown;
  readonly address?: unknown;
  readonly port?: unknown;
  readonly errors?: readonly SocketError[];
}

/**
 * The local address that refuses connections, as `127.0.0.1:11434`, by what a client or `fetch` threw;
 * undefined: something else is wrong.
 */
export function silentPort(error: unknown): string | undefined {
  const cause = error instanceof Error ? (error.cause as SocketError | undefined) : undefined;
  if (cause?.code !== "ECONNREFUSED") return undefined;
  const { address, port } = cause.errors?.[0] ?? cause;
  if (typeof address !== "string" || typeof port !== "number") return undefined;
  if (!address.startsWith("127.") && address !== "::1") return undefined;
  return isIP(address) === 6 ? `[${address}]:${port}` : `${address}:${port}`;
}
