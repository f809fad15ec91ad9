import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, it } from "vitest";
import { numberOf } from "../../ports/identity.ts";
import { storeSuite } from "../../testing/store-suite.ts";
import type { StoreUnderTest } from "../../testing/stored-run.ts";
import { SqliteStore } from "./sqlite-store.ts";

async function openPlace(synchronous: "full" | "normal"): Promise<StoreUnderTest> {
  const folder = mkdtempSync(join(tmpdir(), "mandate-sqlite-"));
  const path = join(folder, "mandate.db");
  const opened: SqliteStore[] = [];
  const open = (): SqliteStore => {
    const artifacts = join(folder, "artifacts");
    const store = new SqliteStore({ path, synchronous, artifacts, pollMs: 10 });
    opened.push(store);
    return store;
  };
  return {
    store: open(),
    reopen: async () => open(),
    async tamper(delegationId) {
      const database = new DatabaseSync(path);
      database
        .prepare(
          `UPDATE sub_agents SET context_json = replace(context_json, '"allowed_tools":[]', '"allowed_tools":["shell"]') WHERE number = ?`,
        )
        .run(numberOf(delegationId) ?? -1);
      database.close();
    },
    async close() {
      for (const store of opened) await store.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

storeSuite("SQLite, synchronous = normal", () => openPlace("normal"), { describe, it });
