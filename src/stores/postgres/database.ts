import type { Socket } from "node:net";
import type { Client, ClientConfig, Pool, PoolClient } from "pg";
import { type Clock, systemClock } from "../../ports/clock.ts";
import { isBroken, stateOf } from "../../ports/database-fault.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import { closed } from "../shared/store-calls.ts";
import { databaseAddressOf, type SchemaName, schemaNameOf } from "./database-place.ts";
import { defaultPatienceMs, persist } from "./persist.ts";

export type Row = Readonly<Record<string, unknown>>;

/** A statement; one with a name is prepared once for each connection. */
export interface Statement {
  readonly text: string;
  readonly values?: readonly unknown[];
  readonly name?: string;
}

export interface DatabasePlace {
  readonly url: string;
  readonly tenant?: string;
  /** Connections for reading; writing and listening have one more each. */
  readonly poolSize?: number;
  /** After so long without an answer a connection counts as gone. */
  readonly answerMs: number;
  readonly clock?: Clock;
}

/** How long a connection may take to end. */
const farewellMs = 500;

type Driver = Pick<typeof import("pg"), "Client" | "Pool" | "types">;

/** One tenant's part of a Postgres database, and the connections to it. */
export class Database {
  readonly schema: SchemaName;
  /** For people. */
  readonly place: string;
  readonly clock: Clock;
  readonly #driver: Driver;
  readonly #config: ClientConfig;
  readonly #answerMs: number;
  readonly #pool: Pool;
  readonly #open = new Set<Client>();
  #patienceMs = defaultPatienceMs;
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
      ...parseConnection(driver, connectionString),
      application_name: "mandate",
      connectionTimeoutMillis: Math.max(2_000, answerMs / 2),
      keepAlive: true,
      types: numbersAsNumbers(driver),
    };
    this.#pool = new driver.Pool({
      ...this.#config,
      ...this.#timeouts(),
      max: poolSize ?? 8,
      idleTimeoutMillis: 10_000,
      allowExitOnIdle: true,
    });
    // An idle connection that breaks is replaced when the next one is needed; who uses one that
    // breaks is reported by its query.
    this.#pool.on("error", () => undefined);
    this.#pool.on("connect", (client) => client.on("error", () => undefined));
  }

  static async load(place: DatabasePlace): Promise<Database> {
    return new Database(await loadDriver(), place);
  }

  /** A statement that may be repeated: reading, and writing what is the same when written twice. */
  async query(statement: Statement): Promise<readonly Row[]> {
    try {
      return await persist(
        this.clock,
        async () => {
          if (this.#isClosed) throw closed();
          return rowsOf(await this.#query(statement));
        },
        () => this.#patienceMs,
      );
    } catch (error) {
      throw this.explain(error);
    }
  }

  /** One that must not be repeated when its answer was lost. */
  async queryOnce(statement: Statement): Promise<readonly Row[]> {
    if (this.#isClosed) throw closed();
    try {
      return rowsOf(await this.#query(statement));
    } catch (error) {
      throw this.explain(error);
    }
  }

  /**
   * A connection of one's own; `timeouts` false for what may take long, `pipeline` true for who
   * sends several statements without waiting for the first one.
   */
  async connect({ pipeline = false, timeouts = true } = {}): Promise<Client> {
    if (this.#isClosed) throw closed();
    const config = {
      ...this.#config,
      ...(timeouts ? this.#timeouts() : undefined),
      pipeline,
    };
    const client = new this.#driver.Client(config);
    client.on("error", () => undefined);
    try {
      await client.connect();
    } catch (error) {
      await this.disconnect(client);
      throw error;
    }
    this.#open.add(client);
    return client;
  }

  async disconnect(client: Client): Promise<void> {
    this.#open.delete(client);
    const ended = client.end().catch(() => undefined);
    const late = Promise.withResolvers<void>();
    const timer = this.clock.after(farewellMs, late.resolve).unref();
    await Promise.race([ended, late.promise]);
    timer.cancel();
    // The server no longer answers; nothing is lost by not saying goodbye.
    const { connection } = client as unknown as { connection?: { stream?: Socket } };
    connection?.stream?.destroy();
  }

  explain(error: unknown): unknown {
    return databaseError(error, this.place);
  }

  get patienceMs(): number {
    return this.#patienceMs;
  }

  /** The process is closing: what cannot be written soon is not waited for. */
  hurry(patienceMs: number): void {
    this.#patienceMs = Math.min(this.#patienceMs, patienceMs);
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

  #timeouts(): ClientConfig {
    return {
      // A longer wait means a lock that is not released; trying again is better.
      lock_timeout: Math.round(this.#answerMs * 0.8),
      statement_timeout: this.#answerMs,
      query_timeout: Math.round(this.#answerMs * 1.2),
      // A process that is stopped in the middle of a transaction must not hold up all others.
      idle_in_transaction_session_timeout: 2_000,
    };
  }
}

/** Whether a connection keeps its process from ending; the driver's types do not know of it. */
export function holdProcess(client: Client, isHeld: boolean): void {
  const socket = client as unknown as { ref(): void; unref(): void };
  if (isHeld) socket.ref();
  else socket.unref();
}

export async function run(client: Client, statement: Statement): Promise<readonly Row[]> {
  return rowsOf(await client.query(asQuery(statement)));
}

/** Several statements without values at once, and the rows of each. */
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

/** Sequence numbers and times are numbers, and far from where numbers end. */
function numbersAsNumbers({ types }: Driver): NonNullable<ClientConfig["types"]> {
  const int8 = 20;
  return {
    getTypeParser: ((oid: number, format?: "text" | "binary") =>
      oid === int8 && format !== "binary"
        ? Number
        : types.getTypeParser(oid, format as "text")) as typeof types.getTypeParser,
  };
}

/**
 * Tables are looked for nowhere: a statement that does not name its schema fails. What the URL asks
 * for also comes first, so that it cannot take this back.
 */
function parseConnection(_driver: Driver, connectionString: string): ClientConfig {
  const url = new URL(connectionString);
  const asked = url.searchParams.get("options") ?? "";
  url.searchParams.set(
    "options",
    `${asked} -c search_path= -c standard_conforming_strings=on`.trim(),
  );
  // The driver reads a plus as a plus, and a space is written otherwise.
  return { connectionString: url.href.replaceAll("+", "%20") };
}

/** What Postgres or the way to it says, in our words. `place` names no password. */
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

/** Several addresses of one host were tried, and the error of each is inside. */
function whyOf(error: unknown): string {
  const errors = error instanceof AggregateError ? error.errors : [];
  const messages = errors.map((one) => (one instanceof Error ? one.message : String(one)));
  return messages.join(", ") || String((error as { code?: unknown }).code ?? "no reason given");
}

function adviceFor(state: string | undefined): string {
  switch (state) {
    case undefined:
      return "Check that it runs and can be reached from here, and what MANDATE_DATABASE_URL says.";
    case "28P01":
    case "28000":
      return "Check user and password in MANDATE_DATABASE_URL.";
    case "3D000":
      return "Create it, or name one that is there in MANDATE_DATABASE_URL.";
    case "42501":
      return "Grant this user CREATE on the database, or make it the owner of its schema.";
    case "25006":
      return "It is read-only: name the one that takes writes in MANDATE_DATABASE_URL.";
    case "53300":
      return "It has no connection left: raise max_connections, or run fewer processes.";
    case "55P03":
    case "57014":
      return "Others hold it for too long: look for long transactions in pg_stat_activity.";
    default:
      return "Nothing was changed.";
  }
}
