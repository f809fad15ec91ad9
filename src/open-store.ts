/** The light half of the wiring: the database alone, which is all that reading needs. */
import { createHome, type Environment, findPlaces } from "./control/places.ts";
import type { Clock } from "./ports/clock.ts";
import { MandateError } from "./ports/mandate-error.ts";
import type { Store } from "./ports/store.ts";
import { SqliteStore } from "./stores/sqlite/sqlite-store.ts";

export interface StoreOptions {
  readonly environment?: Environment;
  /** A file, or ":memory:" for a database that ends with the process. */
  readonly database?: string;
  readonly synchronous?: "full" | "normal";
  readonly clock?: Clock;
}

/** Loads neither engine, schemas nor models, so that looking at runs starts at once. */
export function openStore(options: StoreOptions): Store {
  const environment = options.environment ?? process.env;
  refuseOtherDatabases(environment["MANDATE_DATABASE_URL"]);
  const places = findPlaces(environment);
  const memory = options.database === ":memory:";
  if (!memory && options.database === undefined) createHome(places);
  return new SqliteStore({
    path: options.database ?? places.database,
    synchronous: options.synchronous ?? "full",
    artifacts: memory ? null : places.artifacts,
    ...(options.clock && { clock: options.clock }),
  });
}

/** Nobody shall believe that their runs are somewhere else than they are. */
export function refuseOtherDatabases(url: string | undefined): void {
  if (url === undefined || url === "") return;
  throw new MandateError(
    "database-unusable",
    "Other databases than the embedded one are not supported yet: unset MANDATE_DATABASE_URL, and take `database.url` out of the configuration.",
  );
}
