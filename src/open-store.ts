/** The light half of the wiring: the database alone, which is all that reading needs. */
import { dirname, join } from "node:path";
import { createHome, type Environment, findPlaces } from "./control/places.ts";
import type { Clock } from "./ports/clock.ts";
import type { Store } from "./ports/store.ts";
import type { MigrationOptions, MigrationReport } from "./stores/migrate-store.ts";

export interface StoreOptions {
  readonly environment?: Environment;
  /** A file, or ":memory:" for a database that ends with the process. Wins over every URL. */
  readonly database?: string;
  /** Of a Postgres database; absent: as MANDATE_DATABASE_URL says, or the embedded one. */
  readonly url?: string | undefined;
  /** Whose part of it; absent: as MANDATE_TENANT says, or everybody's. */
  readonly tenant?: string | undefined;
  readonly synchronous?: "full" | "normal";
  readonly clock?: Clock;
}

/**
 * Loads neither engine, schemas nor models, so that looking at runs starts at once, and of the
 * databases only the one that is used.
 */
export async function openStore(options: StoreOptions): Promise<Store> {
  const environment = options.environment ?? process.env;
  const clock = options.clock && { clock: options.clock };
  const url = databaseUrlOf(options, environment);
  const places = findPlaces(environment);
  // Working copies and tokens are in it, wherever the runs are.
  if (options.database === undefined) createHome(places);
  if (url !== undefined) {
    const { PostgresStore } = await import("./stores/postgres/postgres-store.ts");
    const tenant = options.tenant ?? (environment["MANDATE_TENANT"] || undefined);
    return PostgresStore.open({ url, ...(tenant !== undefined && { tenant }), ...clock });
  }
  const memory = options.database === ":memory:";
  const { SqliteStore } = await import("./stores/sqlite/sqlite-store.ts");
  return new SqliteStore({
    path: options.database ?? places.database,
    synchronous: options.synchronous ?? "full",
    artifacts: memory ? null : places.artifacts,
    ...clock,
  });
}

/** Copies the embedded database of an environment, or the one in a file, to Postgres. */
export async function migrateToPostgres(
  options: Omit<MigrationOptions, "from" | "artifacts"> & {
    readonly environment: Environment;
    readonly from?: string | undefined;
  },
): Promise<MigrationReport> {
  const { migrateStore } = await import("./stores/migrate-store.ts");
  const { artifacts, database } = findPlaces(options.environment);
  const { from = database } = options;
  // Bodies lie beside their database.
  const beside = from === database ? artifacts : join(dirname(from), "artifacts");
  return migrateStore({ ...options, from, artifacts: beside });
}

/** Which database that is, for people: without user and password. */
export async function describeStore(
  options: StoreOptions,
): Promise<{ readonly path: string; readonly schema: number }> {
  const environment = options.environment ?? process.env;
  const url = databaseUrlOf(options, environment);
  if (url === undefined) {
    const { migrations } = await import("./stores/sqlite/migrations.ts");
    return {
      path: options.database ?? findPlaces(environment).database,
      schema: migrations.length,
    };
  }
  const { databaseAddressOf } = await import("./stores/postgres/database-url.ts");
  const { migrations } = await import("./stores/postgres/migrations.ts");
  return { path: databaseAddressOf(url).place, schema: migrations.length };
}

function databaseUrlOf(options: StoreOptions, environment: Environment): string | undefined {
  if (options.database !== undefined) return undefined;
  const url = options.url ?? environment["MANDATE_DATABASE_URL"];
  return url === "" ? undefined : url;
}
