import type { Socket } from "node:net";
import type { Client, ClientConfig, Pool, PoolClient } from "pg";
import { type Clock, systemClock } from "../../ports/clock.ts";
import { isBroken, stateOf } from "../../ports/database-fault.ts";
import type { Log } from "../../ports/log.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import { closed } from "../shared/store-calls.ts";
import { databaseAddressOf, type SchemaName, schemaNameOf } from "./database-place.ts";
import { defaultRetryMs, retry } from "./retry.ts";

export type Row = Readonly<Record<string, unknown>>;

/** A statement. One with a name is prepared once for each connection. */
export interface Statement {
  readonly text: string;
  readonly values?: readonly unknown[];
  readonly name?: string;
}

export interface DatabasePlace {
  readonly url: string;
  readonly tenant?: string;
  /** Connections for reading; there is one more for writing and one for listening. */
  readonly poolSize?: number;
  /** A connection that does not answer for so long counts as broken. */
  readonly answerMs: number;
  readonly clock?: Clock;
  /** How long to wait at the start for a server that does not answer; absent: not at all. */
  readonly waitMs?: number | undefined;
  readonly log?: Log | undefined;
}

/** How long closing a connection may take. */
const closeTimeoutMs = 500;

type Driver = Pick<typeof import("pg"), "Client" | "Pool" | "types">;

/** One tenant's schema in a Postgres database, and the connections to it. */
export class Database {
  readonly schema: SchemaName;
  /** The address of the database, for messages. */
  readonly place: string;
  readonly clock: Clock;
  readonly #driver: Driver;
  readonly #config: ClientConfig;
  readonly #answerMs: number;
  readonly #pool: Pool;
  readonly #open = new Set<Client>();
  #retryMs = defaultRetryMs;
  #isClosed = false;

  private constructor(driver: Driver, options: DatabasePlace) {
    const { answerMs, clock = systemClock, poolSize, tenant, url } = options;
    const { connectionString, place } = databaseAddressOf(url);
    this.#driver = driver;
    this.schema = schemaNameOf(tenant);
    this.place = place;
    this.clock = clock;
    this.#answerMs = answerMs;
    this.#config = {
      connectionString,
      application_name: "mandate",
      connectionTimeoutMillis: Math.max(2_000, answerMs / 2),
      keepAlive: true,
      types: numbersAsNumbers(driver),
    };
    this.#pool = new driver.Pool({
      ...this.#config,
      query_timeout: this.#queryTimeoutMs,
      max: poolSize ?? 8,
      idleTimeoutMillis: 10_000,
      allowExitOnIdle: true,
    });
    // An idle connection that breaks is replaced when the next one is needed. A broken connection
    // in use is reported by its query.
    this.#pool.on("error", () => undefined);
    this.#pool.on("connect", (client) => {
      client.on("error", () => undefined);
      // The first query of a connection: what is asked next waits for it.
      client.query(this.#sessionSettings(true)).catch(() => client.end());
    });
  }

  static async load(place: DatabasePlace): Promise<Database> {
    return new Database(await loadDriver(), place);
  }

  /**
   * Runs a statement that may be retried: a read, or a write with the same effect when repeated.
   */
  async query(statement: Statement): Promise<readonly Row[]> {
    try {
      return await retry(
        this.clock,
        async () => {
          if (this.#isClosed) throw closed();
          return rowsOf(await this.#query(statement));
        },
        () => this.#retryMs,
      );
    } catch (error) {
      throw this.explain(error);
    }
  }

  /** Runs a statement that must not be retried when its answer is lost. */
  async queryOnce(statement: Statement): Promise<readonly Row[]> {
    if (this.#isClosed) throw closed();
    try {
      return rowsOf(await this.#query(statement));
    } catch (error) {
      throw this.explain(error);
    }
  }

  /**
   * Opens a separate connection. `timeouts: false` for long statements; `pipeline: true` to send
   * several statements without waiting for answers.
   */
  async connect({ pipeline = false, timeouts = true } = {}): Promise<Client> {
    if (this.#isClosed) throw closed();
    const config = {
      ...this.#config,
      ...(timeouts && { query_timeout: this.#queryTimeoutMs }),
      pipeline,
    };
    let client: Client | undefined;
    try {
      client = new this.#driver.Client(config);
      client.on("error", () => undefined);
      await client.connect();
      await client.query(this.#sessionSettings(timeouts));
    } catch (error) {
      if (client !== undefined) await this.disconnect(client);
      throw connectionError(error, this.place);
    }
    this.#open.add(client);
    return client;
  }

  async disconnect(client: Client): Promise<void> {
    this.#open.delete(client);
    const ended = client.end().catch(() => undefined);
    const late = Promise.withResolvers<void>();
    const timer = this.clock.after(closeTimeoutMs, late.resolve).unref();
    await Promise.race([ended, late.promise]);
    timer.cancel();
    // The server no longer answers; closing without a message loses nothing.
    const { connection } = client as unknown as { connection?: { stream?: Socket } };
    connection?.stream?.destroy();
  }

  explain(error: unknown): unknown {
    return databaseError(error, this.place);
  }

  get retryMs(): number {
    return this.#retryMs;
  }

  /** The process is closing: writes are not retried for longer than this. */
  hurry(retryMs: number): void {
    this.#retryMs = Math.min(this.#retryMs, retryMs);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#open].map((client) => this.disconnect(client)));
    await this.#pool.end();
  }

  async #query(statement: Statement): Promise<unknown> {
    const client: PoolClient = await this.#pool.connect();
    let failure: unknown;
    try {
      return await client.query(asQuery(statement));
    } catch (error) {
      failure = error;
      throw error;
    } finally {
      client.release(isBroken(failure));
    }
  }

  /**
   * Set by a statement, since poolers refuse such parameters of a connection. The search path is
   * empty, so that a statement that does not name its schema fails.
   */
  #sessionSettings(timeouts: boolean): string {
    const settings = {
      search_path: "",
      standard_conforming_strings: "on",
      ...(timeouts && {
        // A longer wait means that a lock is not released; retrying is better.
        lock_timeout: Math.round(this.#answerMs * 0.8),
        statement_timeout: this.#answerMs,
        // A process that is stopped inside a transaction must not block all others.
        idle_in_transaction_session_timeout: 2_000,
      }),
    };
    const calls = Object.entries(settings).map(
      ([name, value]) => `pg_catalog.set_config('${name}', '${value}', false)`,
    );
    return `SELECT ${calls.join(", ")}`;
  }

  get #queryTimeoutMs(): number {
    return Math.round(this.#answerMs * 1.2);
  }
}

/** A connection normally keeps the process running. The driver's types lack these methods. */
type ProcessHolder = Client & { ref(): void; unref(): void };

export function keepProcessRunning(client: Client): void {
  (client as ProcessHolder).ref();
}

export function letProcessEnd(client: Client): void {
  (client as ProcessHolder).unref();
}

export async function run(client: Client, statement: Statement): Promise<readonly Row[]> {
  return rowsOf(await client.query(asQuery(statement)));
}

/** Runs several statements without values in one request, and returns the rows of each. */
export async function runAll(
  client: Client,
  texts: readonly string[],
): Promise<readonly (readonly Row[])[]> {
  const results: unknown = await client.query(texts.join(";\n"));
  return Array.isArray(results) ? results.map(rowsOf) : [rowsOf(results)];
}

function rowsOf(result: unknown): readonly Row[] {
  return (result as { readonly rows: readonly Row[] }).rows;
}

function asQuery({ name, text, values }: Statement) {
  return { text, ...(values && { values: [...values] }), ...(name && { name }) };
}

async function loadDriver(): Promise<Driver> {
  try {
    const module = await import("pg");
    return module.default;
  } catch (cause) {
    throw new MandateError(
      "database-unusable",
      "A database on Postgres needs the package pg, which is not installed: npm install pg",
      { cause },
    );
  }
}

/** Sequence numbers and times are far below the largest safe integer. */
function numbersAsNumbers({ types }: Driver): NonNullable<ClientConfig["types"]> {
  const int8 = 20;
  return {
    getTypeParser: ((oid: number, format?: "text" | "binary") =>
      oid === int8 && format !== "binary"
        ? Number
        : types.getTypeParser(oid, format as "text")) as typeof types.getTypeParser,
  };
}

/** The error of a connection that was never made: also what TLS found, and a missing file of certificates. */
function connectionError(error: unknown, place: string): unknown {
  if (error instanceof MandateError || stateOf(error) !== undefined || isBroken(error))
    return error;
  const why = error instanceof Error ? error.message : String(error);
  const message = `The database ${place} cannot be reached as MANDATE_DATABASE_URL asks (${why}). Check sslmode and sslrootcert in it, and the name in the server's certificate.`;
  return new MandateError("database-unusable", message, { cause: error });
}

/**
 * Translates an error of Postgres or of the connection into a `MandateError`. `place` holds no
 * password.
 */
function databaseError(error: unknown, place: string): unknown {
  if (error instanceof MandateError) return error;
  const state = stateOf(error);
  if (state === "53100") {
    const message = `The disk of the database ${place} is full. Make room on it.`;
    return new MandateError("storage-full", message, { cause: error });
  }
  if (state === undefined && !isBroken(error)) return error;
  const why = error instanceof Error && error.message !== "" ? error.message : whyOf(error);
  const message = `The database ${place} cannot be used (${why}). ${adviceFor(state)}`;
  return new MandateError("database-unusable", message, { cause: error });
}

/** A host with several addresses gives one error for each. */
function whyOf(error: unknown): string {
  const errors = error instanceof AggregateError ? error.errors : [];
  const messages = errors.map((one) => (one instanceof Error ? one.message : String(one)));
  return messages.join(", ") || String((error as { code?: unknown }).code ?? "no reason given");
}

/** A pooler that gives a connection to others between transactions loses notifications and statements. */
export const poolerAdvice =
  "If a pooler is in between, it has to keep a session for each connection (PgBouncer: pool_mode = session); or connect directly.";

function adviceFor(state: string | undefined): string {
  switch (state) {
    case undefined:
      return "Check that it is running and reachable from here, and check MANDATE_DATABASE_URL.";
    case "28P01":
    case "28000":
      return "Check user and password in MANDATE_DATABASE_URL.";
    case "3D000":
      return "Create it, or name an existing one in MANDATE_DATABASE_URL.";
    case "42501":
      return "Grant this user CREATE on the database, or make it the owner of its schema.";
    case "25006":
      return "It is read-only: name the primary server in MANDATE_DATABASE_URL.";
    case "08P01":
    case "26000":
    case "42P05":
      return poolerAdvice;
    case "53300":
      return "It has no free connection: raise max_connections, or run fewer processes.";
    case "55P03":
    case "57014":
      return "Another transaction holds a lock for too long: look for long transactions in pg_stat_activity.";
    default:
      return "Nothing was changed.";
  }
}
