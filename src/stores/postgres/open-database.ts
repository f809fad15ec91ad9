import type { Client } from "pg";
import { sleep } from "../../ports/clock.ts";
import { codeOf, isPassing, stateOf } from "../../ports/database-fault.ts";
import { firstNumber } from "../../ports/identity.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import { Database, type DatabasePlace, poolerAdvice, run } from "./database.ts";
import { migrations } from "./migrations.ts";
import { retry } from "./retry.ts";

/** How long to wait for a database that is starting or has no free connection. */
const startingRetryMs = 5_000;

/** How long to wait between two tries while the database cannot be reached, and between log lines. */
const waitPauseMs = 500;
const waitLogMs = 5_000;

/** Connects and migrates the schema. Throws a `MandateError` that explains a failure. */
export async function openDatabase(place: DatabasePlace): Promise<Database> {
  const database = await Database.load(place);
  try {
    await waitFor(database, place, () =>
      retry(
        database.clock,
        () => prepare(database),
        () => startingRetryMs,
      ),
    );
    return database;
  } catch (error) {
    await database.close();
    throw database.explain(error);
  }
}

/** Tries again as long as the place says, while no server answers or a server is starting. */
async function waitFor(
  { clock, place }: Database,
  { log, waitMs = 0 }: DatabasePlace,
  open: () => Promise<void>,
): Promise<void> {
  const start = clock.monotonic();
  let loggedAt = Number.NEGATIVE_INFINITY;
  for (;;) {
    try {
      return await open();
    } catch (error) {
      const cause = error instanceof MandateError ? error.cause : error;
      const left = start + waitMs - clock.monotonic();
      if (!isPassing(cause) || left <= 0) throw error;
      if (clock.monotonic() - loggedAt >= waitLogMs) {
        loggedAt = clock.monotonic();
        const seconds = Math.ceil(left / 1000);
        log?.({
          level: "warn",
          code: "database_waiting",
          message: `The database ${place} does not answer yet. Waiting up to ${seconds} s.`,
          error: codeOf(cause),
        });
      }
      await sleep(clock, Math.min(left, waitPauseMs));
    }
  }
}

/** Safe to retry: a connection that breaks is no reason not to start. */
async function prepare(database: Database): Promise<void> {
  const client = await connect(database);
  try {
    if ((await schemaVersion(client, database)) !== migrations.length) {
      await migrate(client, database);
    }
    await requireWritable(client, database);
    await requireSession(client, database);
  } finally {
    await database.disconnect(client);
  }
}

const sessionChecks = 5;

/**
 * A connection has one process of the server for itself. A pooler that shares them gives an idle one to
 * both connections in turn, and a busy one gives each statement of a connection another one.
 */
async function requireSession(client: Client, database: Database): Promise<void> {
  const text = "SELECT pg_catalog.pg_backend_pid() AS pid";
  const own = new Set<unknown>();
  const others = new Set<unknown>();
  for (let count = 0; count < sessionChecks; count++) {
    own.add((await run(client, { text }))[0]?.["pid"]);
    others.add((await database.query({ text }))[0]?.["pid"]);
  }
  if (own.size === 1 && ![...own].some((pid) => others.has(pid))) return;
  throw new MandateError(
    "database-unusable",
    `Connections to the database ${database.place} share a session. ${poolerAdvice}`,
  );
}

/** A refused connection fails immediately: the address is usually wrong. One that broke is tried again. */
async function connect(database: Database): Promise<Client> {
  try {
    return await database.connect({ timeouts: false });
  } catch (error) {
    const isRefused = stateOf(error) === undefined && codeOf(error) !== undefined;
    throw isRefused ? database.explain(error) : error;
  }
}

async function migrate(client: Client, database: Database): Promise<void> {
  const { quoted, lock, plain } = database.schema;
  await requireUnicode(client, database);
  await client.query("BEGIN");
  try {
    // Two processes may start at once: the second one waits here and then finds nothing to do.
    await client.query(`SELECT pg_advisory_xact_lock(${lock})`);
    const version = await schemaVersion(client, database);
    if (version > migrations.length) throw newer(database, version);
    // Created only when missing: a user without the right to create schemas can use an existing
    // one.
    const there = await run(client, {
      text: "SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = $1",
      values: [plain],
    });
    if (there.length === 0) await client.query(`CREATE SCHEMA ${quoted}`);
    await client.query(
      `CREATE TABLE IF NOT EXISTS ${quoted}.meta (key TEXT PRIMARY KEY, value BIGINT NOT NULL)`,
    );
    for (const step of migrations.slice(version)) {
      await client.query(step.replaceAll("$schema", quoted));
    }
    await client.query(
      `INSERT INTO ${quoted}.meta VALUES ('schema', ${migrations.length})
       ON CONFLICT (key) DO UPDATE SET value = greatest(meta.value, excluded.value)`,
    );
    await client.query(
      `INSERT INTO ${quoted}.meta VALUES ('next_id', ${firstNumber()}) ON CONFLICT DO NOTHING`,
    );
    await client.query("COMMIT");
  } catch (error) {
    await client.query("ROLLBACK").catch(() => undefined);
    throw error;
  }
}

async function schemaVersion(client: Client, { schema }: Database): Promise<number> {
  // Read from the catalogue: after a lookup by name Postgres would remember, from before it held
  // the lock, that the table was missing.
  const found = await run(client, {
    text: `SELECT 1 FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
           WHERE c.relname = 'meta' AND n.nspname = $1`,
    values: [schema.plain],
  });
  if (found.length === 0) return 0;
  const [row] = await run(client, {
    text: `SELECT value FROM ${schema.quoted}.meta WHERE key = 'schema'`,
  });
  return Number(row?.["value"] ?? 0);
}

async function requireUnicode(client: Client, { place }: Database): Promise<void> {
  const [row] = await run(client, {
    text: "SELECT pg_catalog.current_setting('server_encoding') AS encoding",
  });
  if (row?.["encoding"] === "UTF8") return;
  throw new MandateError(
    "database-unusable",
    `The database ${place} has the encoding ${row?.["encoding"]}. Create one with ENCODING 'UTF8'.`,
  );
}

/**
 * Reported at the start: a later write would wait, because another server may be about to take
 * over.
 */
async function requireWritable(client: Client, { place }: Database): Promise<void> {
  const [row] = await run(client, {
    text: "SELECT pg_catalog.current_setting('transaction_read_only') AS read_only",
  });
  if (row?.["read_only"] === "off") return;
  throw new MandateError(
    "database-unusable",
    `The database ${place} is read-only: name the primary server in MANDATE_DATABASE_URL.`,
  );
}

export function newer({ place, schema }: Database, version: number): MandateError {
  return new MandateError(
    "database-newer",
    `The schema ${schema.plain} of the database ${place} was written by a newer Mandate (schema ${version}, this one knows ${migrations.length}). Update mandate on this machine, or name another database.`,
  );
}
