import { describe, it } from "vitest";
import { numberOf } from "../../ports/identity.ts";
import { dropDatabase, execute, freshDatabase } from "../../testing/postgres.test-support.ts";
import { storeSuite } from "../../testing/store-suite.ts";
import type { StoreUnderTest } from "../../testing/stored-run.ts";
import { PostgresStore } from "./postgres-store.ts";

async function openPlace(): Promise<StoreUnderTest> {
  const url = await freshDatabase();
  const opened: PostgresStore[] = [];
  const open = async (): Promise<PostgresStore> => {
    const store = await PostgresStore.open({ url, pollMs: 50 });
    opened.push(store);
    return store;
  };
  return {
    store: await open(),
    reopen: open,
    async tamper(delegationId) {
      await execute(
        url,
        `UPDATE mandate.sub_agents SET context_json = replace(context_json, '"allowed_tools":[]', '"allowed_tools":["shell"]') WHERE number = $1`,
        [numberOf(delegationId) ?? -1],
      );
    },
    async close() {
      for (const store of opened) await store.close();
      await dropDatabase(url);
    },
  };
}

storeSuite("Postgres", openPlace, { describe, it });
