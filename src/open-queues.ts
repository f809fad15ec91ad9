/** The wiring of the queues that workers share: all that looking at them needs. */
import type { Config } from "./control/config.ts";
import type { Clock } from "./ports/clock.ts";
import { MandateError } from "./ports/mandate-error.ts";
import type { DbosDispatcher } from "./stores/dbos/dbos-dispatcher.ts";

/** Null: runs are not distributed, and each process works on its own. */
export async function openQueues(
  { database, engine }: Pick<Config, "database" | "engine">,
  clock?: Clock,
): Promise<DbosDispatcher | null> {
  if (engine.kind === "local") return null;
  const { url } = database;
  if (url === undefined) {
    throw new MandateError(
      "config-invalid",
      "`engine.kind: dbos` needs Postgres: set MANDATE_DATABASE_URL, or `database.url` in the configuration.",
    );
  }
  const { DbosDispatcher, defaultTenant } = await import("./stores/dbos/dbos-dispatcher.ts");
  const { schemaNameOf } = await import("./stores/postgres/database-place.ts");
  const { tenant = defaultTenant } = database;
  const storeSchema = schemaNameOf(database.tenant).quoted;
  return DbosDispatcher.open({ url, tenant, storeSchema, config: engine, ...(clock && { clock }) });
}
