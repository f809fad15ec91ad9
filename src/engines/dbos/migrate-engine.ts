import { AsyncLocalStorage } from "node:async_hooks";
import { format } from "node:util";
import type { Client } from "pg";
import { type Clock, sleep } from "../../ports/clock.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import { engineSchema, loadDbos } from "./load-dbos.ts";

/** Of this database; whoever holds it may change the tables of the queues. */
const lock = "8320190466107318521";
const askEveryMs = 50;
const patienceMs = 300_000;

/**
 * Makes the tables of the queues, or brings them up to date. Servers, workers and clients start
 * together on an empty database, and the engine's steps do not bear being taken by two at once: one
 * takes them, and the others find nothing to do.
 */
export function migrateEngine(url: string, clock: Clock): Promise<void> {
  const done = last.then(() => migrate(url, clock));
  last = done.catch(() => undefined);
  return done;
}

/** One after the other within this process: its output is one. */
let last: Promise<void> = Promise.resolve();

async function migrate(url: string, clock: Clock): Promise<void> {
  const { DBOS } = await loadDbos();
  const { default: pg } = await import("pg");
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 10_000 });
  client.on("error", () => undefined);
  await client.connect();
  try {
    await takeLock(client, clock);
    await holdBack(() => DBOS.migrate(url, { schemaName: engineSchema }));
  } finally {
    // The lock goes with its connection, and so with this process.
    await client.end().catch(() => undefined);
  }
}

/**
 * Asked for again and again: who waits for it within the database is waited for by the indexes that
 * are made there meanwhile, and neither would come to an end.
 */
async function takeLock(client: Client, clock: Clock): Promise<void> {
  const until = clock.monotonic() + patienceMs;
  for (;;) {
    const text = `SELECT pg_catalog.pg_try_advisory_lock(${lock}) AS taken`;
    const { rows } = await client.query<{ taken: boolean }>(text);
    if (rows[0]?.taken === true) return;
    if (clock.monotonic() > until) {
      throw new MandateError(
        "database-unusable",
        "Another process has been bringing the tables of the queues up to date for five minutes. Start this again when it is done; if it hangs, end it first.",
      );
    }
    await sleep(clock, askEveryMs);
  }
}

const migrating = new AsyncLocalStorage<string[]>();

/**
 * What the engine prints meanwhile is for its developers, and must not get into a document that a
 * command prints: it is shown where the work fails. What others print is theirs.
 */
async function holdBack(work: () => Promise<void>): Promise<void> {
  const said: string[] = [];
  const before = { ...console };
  for (const level of ["debug", "info", "log", "warn", "error"] as const) {
    console[level] = (...words: unknown[]) => {
      const held = migrating.getStore();
      if (held === undefined) before[level](...words);
      else held.push(`${format(...words)}\n`);
    };
  }
  try {
    await migrating.run(said, work);
  } catch (error) {
    process.stderr.write(said.join(""));
    throw error;
  } finally {
    Object.assign(console, before);
  }
}
