import { schemaNameOf } from "../../src/stores/postgres/database-place.ts";
import { execute } from "../../src/testing/postgres.test-support.ts";
import type { Job } from "./job.ts";
import { PostgresServer } from "./postgres-server.ts";
import type { StorePlace } from "./store-place.ts";

/** One server for all runs, each of them a tenant's. */
export interface PostgresPlace extends StorePlace {
  readonly server: PostgresServer;
}

export async function openPostgresPlace(): Promise<PostgresPlace> {
  const server = await PostgresServer.start();
  const schemaOf = ({ postgres }: Job): string => schemaNameOf(postgres?.tenant).quoted;
  return {
    name: "postgres",
    server,
    placeOf: (run) => ({
      postgres: { url: server.url, tenant: run.toLowerCase().replaceAll(/[^a-z0-9]/g, "_") },
    }),
    async afterDeath(job) {
      // Its lease would pass by itself, in the time of a whole run.
      const schema = schemaOf(job);
      const [known] = await execute(
        server.url,
        "SELECT pg_catalog.to_regclass($1) IS NOT NULL AS there",
        [`${schema}.workers`],
      );
      if (known?.["there"] !== true) return;
      await execute(
        server.url,
        `UPDATE ${schema}.workers SET expires_at = pg_catalog.clock_timestamp() - interval '1 second'`,
      );
    },
    async forget(job) {
      await execute(server.url, `DROP SCHEMA IF EXISTS ${schemaOf(job)} CASCADE`);
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}
