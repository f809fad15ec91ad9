import { AsyncLocalStorage } from "node:async_hooks";
import { format } from "node:util";
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

export const applicationName = "mandate";

/** The version of what a queued item says: workers of one version share the queues. */
export const applicationVersion = "mandate-1";

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
export function migrateEngine(engine: EngineTables): Promise<void> {
  const done = latest.then(() => migrate(engine));
  latest = done.catch(() => undefined);
  return done;
}

interface EngineTables {
  readonly url: string;
  readonly schema: string;
  readonly clock: Clock;
}

async function migrate({ clock, schema, url }: EngineTables): Promise<void> {
  const { DBOS } = await loadDbos();
  const { default: pg } = await import("pg");
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 10_000 });
  client.on("error", () => undefined);
  await client.connect();
  try {
    await acquireLock(client, clock);
    if (!(await mayCreateSchemas(client, schema))) return;
    await holdOutput(() => DBOS.migrate(url, { schemaName: schema }));
  } finally {
    // The lock ends with its connection, and so with this process.
    await client.end().catch(() => undefined);
  }
}

/**
 * DBOS creates its schema again each time, which takes the right to create schemas. A tenant's own
 * role may lack it once its tables exist: then there is nothing to do.
 */
async function mayCreateSchemas(client: Client, schema: string): Promise<boolean> {
  const { rows } = await client.query<{ may: boolean; exists: boolean }>(
    `SELECT has_database_privilege(current_database(), 'CREATE') AS may, EXISTS (
       SELECT 1 FROM pg_catalog.pg_tables WHERE schemaname = $1 AND tablename = 'workflow_status'
     ) AS exists`,
    [schema],
  );
  const [found] = rows;
  if (found?.may !== false) return true;
  if (found.exists) return false;
  throw new MandateError(
    "database-unusable",
    `The database role may not create the schema ${schema} of the queues: GRANT CREATE ON DATABASE … TO its role for the first start, and for the first start of a newer version.`,
  );
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
