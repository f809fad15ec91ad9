import { AsyncLocalStorage } from "node:async_hooks";
import { format } from "node:util";
import type { DLogger } from "@dbos-inc/dbos-sdk";
import type { Client } from "pg";
import { type Clock, sleep } from "../../ports/clock.ts";
import { MandateError } from "../../ports/mandate-error.ts";

type Dbos = typeof import("@dbos-inc/dbos-sdk");

/** An optional package: only distributed runs need it. */
export async function loadDbos(): Promise<Dbos> {
  try {
    return await import("@dbos-inc/dbos-sdk");
  } catch (error) {
    throw new MandateError(
      "config-invalid",
      "`engine.kind: dbos` needs a package that is not installed: npm install @dbos-inc/dbos-sdk pg",
      { cause: error },
    );
  }
}

/** The schema of the queues' tables, in the database of the tenants. */
export const engineSchema = "mandate_engine";
export const applicationName = "mandate";

/** The version of what a queued item says: workers of one version share the queues. */
export const applicationVersion = "mandate-1";

/**
 * The address of the database for DBOS. DBOS would set this limit by a query on each connection,
 * which the driver warns of; a connection that begins with the limit needs no query.
 */
export function engineAddress(url: string): string {
  const address = new URL(url);
  const asked = address.searchParams.get("options") ?? "";
  const options = `-c idle_in_transaction_session_timeout=60000 ${asked}`.trim();
  address.searchParams.set("options", options);
  // The driver does not decode a plus as a space.
  return address.href.replaceAll("+", "%20");
}

/**
 * Passes the warnings of DBOS on, each kind at most every 30 seconds: an unreachable database is one
 * message, not one for every queue and every poll.
 */
export function quietLogger(log: (line: string) => void, clock: Clock): DLogger {
  const loggedAt = new Map<string, number>();
  const warn = (entry: unknown): void => {
    const text = entry instanceof Error ? entry.message : String(entry);
    // Expected: a worker that was taken for dead is back, and another worker has done its work.
    if (text.includes("no longer owned by this execution")) return;
    const kind = text.slice(0, 24);
    const now = clock.monotonic();
    if (now - (loggedAt.get(kind) ?? Number.NEGATIVE_INFINITY) < 30_000) return;
    loggedAt.set(kind, now);
    log(text);
  };
  return { info: () => undefined, debug: () => undefined, warn, error: warn };
}

/** Per database: the process that holds this advisory lock may change the tables of the queues. */
const lock = "8320190466107318521";
const lockPollMs = 50;
const lockTimeoutMs = 300_000;

/** Migrations of this process run one after the other, because they share its console. */
let latest: Promise<void> = Promise.resolve();

/**
 * Creates the tables of the queues, or migrates them. Processes may start together on an empty
 * database, and DBOS does not support concurrent migrations: the lock lets one process do it.
 */
export function migrateEngine(url: string, clock: Clock): Promise<void> {
  const done = latest.then(() => migrate(url, clock));
  latest = done.catch(() => undefined);
  return done;
}

async function migrate(url: string, clock: Clock): Promise<void> {
  const { DBOS } = await loadDbos();
  const { default: pg } = await import("pg");
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 10_000 });
  client.on("error", () => undefined);
  await client.connect();
  try {
    await acquireLock(client, clock);
    await holdOutput(() => DBOS.migrate(url, { schemaName: engineSchema }));
  } finally {
    // The lock ends with its connection, and so with this process.
    await client.end().catch(() => undefined);
  }
}

/** Polls: a session that waits inside the database would deadlock with CREATE INDEX CONCURRENTLY. */
async function acquireLock(client: Client, clock: Clock): Promise<void> {
  const until = clock.monotonic() + lockTimeoutMs;
  for (;;) {
    const text = `SELECT pg_catalog.pg_try_advisory_lock(${lock}) AS taken`;
    const { rows } = await client.query<{ taken: boolean }>(text);
    if (rows[0]?.taken === true) return;
    if (clock.monotonic() > until) {
      throw new MandateError(
        "database-unusable",
        "Another process has been migrating the tables of the queues for five minutes. Start this again when it is done; if it hangs, end it first.",
      );
    }
    await sleep(clock, lockPollMs);
  }
}

const migrating = new AsyncLocalStorage<string[]>();

/**
 * Keeps what DBOS prints during a migration out of the documents that commands print, and prints it
 * on stderr when the migration fails. Output of other code passes.
 */
async function holdOutput(work: () => Promise<void>): Promise<void> {
  const held: string[] = [];
  const before = { ...console };
  for (const level of ["debug", "info", "log", "warn", "error"] as const) {
    console[level] = (...words: unknown[]) => {
      const own = migrating.getStore();
      if (own === undefined) before[level](...words);
      else own.push(`${format(...words)}\n`);
    };
  }
  try {
    await migrating.run(held, work);
  } catch (error) {
    process.stderr.write(held.join(""));
    throw error;
  } finally {
    Object.assign(console, before);
  }
}
