import { DatabaseSync } from "node:sqlite";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Clock } from "../../ports/clock.ts";
import type { Inspection, LogHead } from "../../ports/inspection.ts";
import type { ArtifactStore } from "../../ports/store.ts";
import { inspectTables, keyStatements, runKeysOf } from "../shared/inspect-tables.ts";
import type { PreparedPrune } from "../shared/prune-runs.ts";
import { PruneTables } from "../shared/prune-tables.ts";
import { runSteps, sql } from "../shared/sql.ts";
import { batchOf } from "../shared/stored-rows.ts";
import type { BatchReader } from "./batch-rows.ts";
import type { GroupCommit } from "./group-commit.ts";
import type { HeadFile } from "./head-file.ts";
import { all, dialect, each } from "./sql-dialect.ts";

/**
 * Reads rows as they are stored, in a separate read transaction, so that writes in the meantime are
 * not seen in part. A database in memory has one connection only: there the caller makes sure that
 * nothing is written.
 */
export function inspectDatabase(
  live: DatabaseSync,
  { artifacts, heads }: { readonly artifacts: ArtifactStore; readonly heads: HeadFile },
): Inspection {
  // First: a head is written after its event, so events that are read later include it.
  const kept = heads.read();
  const path = live.location();
  const own = path === null ? undefined : new DatabaseSync(path, { readOnly: true, timeout: 5000 });
  own?.exec("BEGIN");
  const database = own ?? live;
  const keys = keyStatements("").map(([table, one]) => [table, each(database, one)] as const);
  return inspectTables({
    ...{ dialect, artifacts, heads: kept, keys: runKeysOf(keys) },
    query: async (statement) => each(database, statement),
    misindexed: () => misindexed(database),
    close: async () => own?.close(),
  });
}

/** How many batches the index by run leaves out, or has for another run. */
function misindexed(database: DatabaseSync): number {
  const [row] = all(
    database,
    sql(
      `SELECT (SELECT count(*) FROM event_batches b
               WHERE first_seq <= (SELECT value FROM meta WHERE key = 'indexed_seq')
               AND NOT EXISTS (
                 SELECT 1 FROM run_index i WHERE i.run = b.run AND i.first_seq = b.first_seq))
            + (SELECT count(*) FROM run_index i JOIN event_batches b ON b.first_seq = i.first_seq
               WHERE b.run <> i.run) AS count`,
    ),
  );
  return Number(row?.["count"]);
}

export interface PruningParts {
  readonly database: DatabaseSync;
  readonly reader: BatchReader;
  readonly commits: GroupCommit;
  readonly clock: Clock;
  readonly heads: HeadFile;
  /** Throws when the store is closed. */
  readonly requireOpen: () => void;
}

/** The SQLite database, for pruning. */
export function prunedTables(parts: PruningParts): PruneTables {
  const { clock, commits, database, heads, reader, requireOpen } = parts;
  // Other work gets a turn between two statements, and a listener that is called in the middle of a
  // transaction does nothing in that transaction.
  const yieldTurn = async (): Promise<void> => {
    await nextTurn();
    requireOpen();
  };
  return new PruneTables({
    dialect,
    ownTables: ["run_index"],
    now: () => String(Math.trunc(clock.now())),
    async query(statement) {
      await yieldTurn();
      return all(database, statement);
    },
    async commit(steps) {
      await yieldTurn();
      commits.commitAlone(() => runSteps(steps(), (statement) => all(database, statement)));
    },
    async *batchesOf(run) {
      await yieldTurn();
      for (const row of reader.batchesOf(run)) yield batchOf({ ...row });
    },
    resumingBatches: (runs) =>
      sql(
        `SELECT events FROM (
           SELECT b.events FROM run_index i JOIN event_batches b ON b.first_seq = i.first_seq
           WHERE ${dialect.isIn("i.run")}
           UNION ALL SELECT events FROM event_batches
           WHERE first_seq > coalesce((SELECT value FROM meta WHERE key = 'indexed_seq'), 0)
             AND ${dialect.isIn("run")})
         WHERE events LIKE '%"resumed_from":"%'`,
        ...[runs, runs],
      ),
    onRemove: (removed, lastSeq) => heads.notePruning(removed.map(endOf), lastSeq),
  });
}

function endOf({ receipt }: PreparedPrune): LogHead {
  const [first, count] = receipt.spans.at(-1) ?? [0, 0];
  return { runId: receipt.run, seq: first + count - 1, hash: receipt.head };
}
