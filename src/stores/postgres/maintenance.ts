import type { Inspection } from "../../ports/inspection.ts";
import type { ArtifactStore } from "../../ports/store.ts";
import { inspectTables, keyStatements, runKeysOf } from "../shared/inspect-tables.ts";
import { PruneTables } from "../shared/prune-tables.ts";
import { runStepsAsync, type Sql, sql } from "../shared/sql.ts";
import { batchOf, type Row } from "../shared/stored-rows.ts";
import { type Database, run } from "./database.ts";
import type { GroupCommit } from "./group-commit.ts";
import { dialectOf, statementOf } from "./sql-dialect.ts";

/**
 * Reads rows as they are stored, on a separate connection and from one snapshot, so that writes in
 * the meantime are not seen in part.
 */
export async function inspectDatabase(
  database: Database,
  artifacts: ArtifactStore,
): Promise<Inspection> {
  const dialect = dialectOf(database);
  const client = await database.connect({ timeouts: false });
  const query = (statement: Sql) => run(client, statementOf(statement));
  await client.query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
  const keys: [Parameters<typeof runKeysOf>[0][number][0], readonly Row[]][] = [];
  for (const [table, one] of keyStatements(dialect.schema)) keys.push([table, await query(one)]);
  return inspectTables({
    ...{ dialect, artifacts, query, keys: runKeysOf(keys) },
    // Several machines write to one database: none of them has all heads in a file of its own.
    heads: undefined,
    // Postgres maintains its indexes itself.
    misindexed: () => 0,
    close: () => database.disconnect(client),
  });
}

const pageSize = 200;

/** The tables of one tenant's schema, for pruning. */
export function prunedTables(database: Database, commits: GroupCommit): PruneTables {
  const dialect = dialectOf(database);
  const batches = `${dialect.schema}event_batches`;
  const query = (statement: Sql) => database.query(statementOf(statement));
  return new PruneTables({
    ...{ dialect, query, ownTables: [] },
    // The clock of the database, which all processes share.
    now: () => "(extract(epoch FROM now()) * 1000)::bigint",
    commit: (steps) =>
      commits.commitAlone((client) =>
        runStepsAsync(steps(), (statement) => run(client, statementOf(statement))),
      ),
    async *batchesOf(number) {
      for (let after = 0; ; ) {
        const text = `SELECT * FROM ${batches} WHERE run = ? AND first_seq > ? ORDER BY first_seq`;
        const rows = await query(sql(`${text} LIMIT ${pageSize}`, number, after));
        for (const row of rows) yield batchOf(row);
        if (rows.length < pageSize) return;
        after = Number(rows.at(-1)?.["first_seq"]);
      }
    },
    resumingBatches: (runs) => {
      const isResuming = `events LIKE '%"resumed_from":"%'`;
      return sql(`SELECT events FROM ${batches} WHERE run = ANY(?) AND ${isResuming}`, runs);
    },
  });
}
