import { checkStore } from "../../events/checker/check-store.ts";
import type { ArtifactStore, Store } from "../../ports/store.ts";
import { PostgresStore } from "../postgres/postgres-store.ts";
import { SqliteStore } from "../sqlite/sqlite-store.ts";
import { copyToPostgres } from "./copy-to-postgres.ts";
import { copyToSqlite } from "./copy-to-sqlite.ts";

/** The two databases; which is the target is for `migrateStore` to hear. */
export interface MigratedStores {
  /** The file of the SQLite database. */
  readonly file: string;
  /** The folder of the database's artifacts. */
  readonly artifacts: string;
  readonly url: string;
  readonly tenant?: string | undefined;
  /** Where large bodies are beside Postgres; absent: in the database. */
  readonly bucket?: ArtifactStore | undefined;
  readonly onProgress?: (table: string, copied: number, of: number) => void;
}

export interface MigrationReport {
  /** How many rows of each table were copied. */
  readonly copied: Readonly<Record<string, number>>;
  readonly events: number;
  readonly violations: readonly string[];
}

/**
 * Copies one database into the other, which has to be empty, in one transaction: either all rows are
 * copied unchanged, or none. The source is only read. Afterwards the copy is checked against the
 * invariants.
 */
export async function migrateStore(
  target: "postgres" | "sqlite",
  stores: MigratedStores,
): Promise<MigrationReport> {
  const copied = await (target === "postgres" ? copyToPostgres : copyToSqlite)(stores);
  const { artifacts, bucket, file: path, tenant, url } = stores;
  const store: Store =
    target === "postgres"
      ? await PostgresStore.open({
          url,
          ...(tenant !== undefined && { tenant }),
          ...(bucket && { artifacts: bucket }),
        })
      : new SqliteStore({ path, artifacts, synchronous: "full" });
  try {
    const { events, violations } = await checkStore(store);
    return {
      copied,
      events,
      violations: violations.map(({ invariant, message, runId = "", seq = "" }) =>
        [invariant, runId, seq, message].filter((part) => part !== "").join(" "),
      ),
    };
  } finally {
    await store.close();
  }
}
