import { expect, it } from "vitest";
import {
  dropDatabase,
  execute,
  freshDatabase,
  postgresServer,
} from "../../testing/postgres.test-support.ts";
import { schemaNameOf } from "../postgres/database-place.ts";
import { PostgresStore } from "../postgres/postgres-store.ts";
import { DbosDispatcher } from "./dbos-dispatcher.ts";

const config = { kind: "dbos", workspaces: "shared", queues: {} } as const;
const tenants = ["acme", "globex"] as const;

/** What docs/guides/many-machines.md tells an administrator to do for each tenant. */
function statementsFor(role: string, database: string): readonly string[] {
  return [
    `CREATE ROLE ${role} LOGIN PASSWORD 'secret'`,
    `GRANT CONNECT, CREATE ON DATABASE ${database} TO ${role}`,
  ];
}

it("gives each tenant a role that reads nothing of another, the engine's rows included", {
  timeout: 180_000,
}, async () => {
  const url = await freshDatabase();
  const name = new URL(url).pathname.slice(1);
  const roles = tenants.map((tenant) => `${tenant}_${name}`);
  const opened: { close(): Promise<void> }[] = [];
  const { url: admin } = await postgresServer();
  const urlAs = (role: string) => {
    const own = new URL(url);
    own.username = role;
    own.password = "secret";
    return own.href;
  };
  try {
    for (const role of roles) {
      for (const text of statementsFor(role, name)) await execute(url, text);
    }
    for (const [index, tenant] of tenants.entries()) {
      const own = urlAs(roles[index] ?? "");
      const open = () =>
        DbosDispatcher.open({
          ...{ url: own, tenant, storeSchema: schemaNameOf(tenant).quoted },
          config: { ...config, schema: `mandate_engine_${tenant}` },
        });
      const store = await PostgresStore.open({ url: own, tenant, leaseMs: 60_000 });
      opened.push(store);
      await store.executors.enlist("worker");
      opened.push(await open());
      await execute(url, `REVOKE CREATE ON DATABASE ${name} FROM ${roles[index]}`);
      // Its schemas exist from here on, and it needs the right no more.
      const queues = await open();
      opened.push(queues);
      const work = { runId: "r1", delegationId: "d1", depth: 0, profile: "p", provider: "m" };
      await queues.dispatch(work);
      const take = { queue: "default", executor: "worker", most: 5, except: [], limits: {} };
      expect(await queues.rows.take(take)).toEqual([{ runId: "r1", delegationId: "d1" }]);
      expect(await queues.rows.putBackLost("worker")).toEqual([]);
      await queues.adoptEarlier();
      expect((await queues.overview()).queues[0]).toMatchObject({ working: 1 });
    }
    const [acme = "", globex = ""] = roles.map(urlAs);
    for (const [own, other] of [
      [acme, "globex"],
      [globex, "acme"],
    ] as const) {
      const rows = await execute(own, tablesOf(other));
      expect(rows.length).toBeGreaterThan(20);
      for (const { schema, table } of rows) {
        await expect(execute(own, `SELECT 1 FROM "${schema}"."${table}" LIMIT 1`)).rejects.toThrow(
          /permission denied/,
        );
      }
    }
  } finally {
    for (const one of opened) await one.close();
    await dropDatabase(url);
    for (const role of roles) await execute(admin, `DROP ROLE IF EXISTS ${role}`);
  }
});

function tablesOf(tenant: string): string {
  return `SELECT n.nspname AS schema, c.relname AS table FROM pg_catalog.pg_class c
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'v') AND n.nspname IN ('mandate_${tenant}', 'mandate_engine_${tenant}')`;
}
