import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { join } from "node:path";
import pg from "pg";
import {
  embeddedServer,
  embeddedUrl,
  freePort,
  makeServerFolder,
  startEmbedded,
} from "./embedded-server.test-support.ts";
import { askForShared } from "./shared-by-files.test-support.ts";

/** A Postgres server for tests: a real one, started when the first test of a process needs it. */
export interface PostgresServer {
  readonly port: number;
  readonly url: string;
}

let started: Promise<PostgresServer> | undefined;

/**
 * The server that MANDATE_TEST_DATABASE_URL names, the one of this test run, or one that ends with
 * this process.
 */
export function postgresServer(): Promise<PostgresServer> {
  started ??= findServer();
  return started;
}

async function findServer(): Promise<PostgresServer> {
  const url =
    process.env["MANDATE_TEST_DATABASE_URL"] ||
    (await askForShared("MANDATE_TEST_SHARED_POSTGRES"));
  return url ? { url, port: Number(new URL(url).port || 5432) } : startServer();
}

/** A database that nothing else is in; gives its URL. */
export async function freshDatabase(): Promise<string> {
  const server = await postgresServer();
  const name = `test_${process.pid}_${randomBytes(6).toString("hex")}`;
  // Files are copied in less time than their pages are written to the log.
  await execute(server.url, `CREATE DATABASE ${name} STRATEGY = file_copy`);
  return withDatabase(server.url, name);
}

export async function dropDatabase(url: string): Promise<void> {
  const { url: admin } = await postgresServer();
  await execute(admin, `DROP DATABASE IF EXISTS ${new URL(url).pathname.slice(1)} WITH (FORCE)`);
}

/** Runs statements beside the store, as somebody else would. */
export async function execute(
  url: string,
  text: string,
  values: readonly unknown[] = [],
): Promise<readonly Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  client.on("error", () => undefined);
  await client.connect();
  try {
    const result = await client.query(values.length === 0 ? text : { text, values: [...values] });
    return result.rows as Record<string, unknown>[];
  } finally {
    await client.end();
  }
}

function withDatabase(url: string, name: string): string {
  const changed = new URL(url);
  changed.pathname = `/${name}`;
  return changed.href;
}

export async function startServer(): Promise<PostgresServer & { end(): Promise<void> }> {
  const folder = makeServerFolder("mandate-postgres-");
  const data = join(folder, "data");
  const place = { data, port: await freePort(), password: randomBytes(9).toString("hex") };
  const watcher = watchOver(folder, data);
  const log: string[] = [];
  const server = embeddedServer(place, log);
  await startEmbedded(server, log);
  const end = async (): Promise<void> => {
    await server.stop();
    const gone = once(watcher, "exit");
    watcher.stdin.end();
    await gone;
  };
  return { port: place.port, url: embeddedUrl(place), end };
}

/**
 * Ends the server and removes its folder when this process is gone, however it went: a shell waits
 * for the end of its input, which is us.
 */
function watchOver(folder: string, data: string) {
  const script = `cat >/dev/null; [ -f "$2/postmaster.pid" ] && kill -QUIT "$(head -n 1 "$2/postmaster.pid")"; sleep 0.3; rm -rf "$1"`;
  const watcher = spawn("sh", ["-c", script, "sh", folder, data], {
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  watcher.unref();
  (watcher.stdin as unknown as { unref(): void }).unref();
  return watcher;
}
