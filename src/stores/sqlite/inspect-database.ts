import { DatabaseSync } from "node:sqlite";
import { runIdOf, runNumberOf } from "../../ports/identity.ts";
import type { Inspection } from "../../ports/inspection.ts";
import type { ArtifactStore } from "../../ports/store.ts";
import {
  batchOf,
  keysByRun,
  type Row,
  spanOf,
  storedAskOf,
  storedDelegationOf,
  storedItemOf,
  storedMemoryOf,
  storedRecordOf,
  storedRunOf,
} from "../shared/stored-rows.ts";
import type { HeadFile } from "./head-file.ts";

/** What lies beside the database and belongs to it. */
interface Beside {
  readonly artifacts: ArtifactStore;
  readonly heads: HeadFile;
}

/**
 * Reads rows as they stand, in one read transaction of its own, so that what others write at the same time
 * is not seen by half. A database in memory has one connection only; there the caller sees to it
 * that no process writes.
 */
export function inspectDatabase(live: DatabaseSync, { artifacts, heads }: Beside): Inspection {
  // First of all: the heads are written after their events, so a later look at the events has them.
  const kept = heads.read();
  const path = live.location();
  const own = path === null ? undefined : new DatabaseSync(path, { readOnly: true, timeout: 5000 });
  own?.exec("BEGIN");
  const database = own ?? live;
  // One pass each: an index by run is something to be checked, and without one a scan for every
  // run would be too many.
  const keysOf = (select: string): ReadonlyMap<number, number[]> =>
    keysByRun(database.prepare(`${select} ORDER BY key`).iterate());
  const batches = keysOf("SELECT run, first_seq AS key FROM event_batches");
  const delegations = keysOf("SELECT run, number AS key FROM sub_agents");
  const inbox = keysOf("SELECT run, seq AS key FROM inbox");
  const memories = keysOf("SELECT run, number AS key FROM memories");
  const asks = keysOf("SELECT run, number AS key FROM asks");
  const rowsOf = (table: string, key: string, keys: readonly number[] = []): readonly Row[] => {
    const statement = database.prepare(`SELECT * FROM ${table} WHERE ${key} = ?`);
    return keys.flatMap((value) => statement.all(value));
  };
  const metaOf = (key: string): number =>
    Number(database.prepare("SELECT value FROM meta WHERE key = ?").get(key)?.["value"] ?? 0);
  return {
    heads: kept,
    async runIds() {
      const rows = database.prepare("SELECT number FROM runs").all();
      const runs = rows.map((row) => Number(row["number"]));
      const others = [batches, delegations, inbox, memories, asks].flatMap((keys) => [
        ...keys.keys(),
      ]);
      const known = new Set([...runs, ...others]);
      return [...known].sort((left, right) => left - right).map(runIdOf);
    },
    async *spans() {
      const rows = database.prepare("SELECT first_seq, run, count FROM event_batches ORDER BY 1");
      for (const row of rows.iterate()) yield spanOf(row);
    },
    async readRows(runId) {
      const run = runNumberOf(runId) ?? -1;
      const row = database.prepare("SELECT * FROM runs WHERE number = ?").get(run);
      return {
        run: row && storedRunOf(row),
        delegations: rowsOf("sub_agents", "number", delegations.get(run)).map(storedDelegationOf),
        asks: rowsOf("asks", "number", asks.get(run)).map(storedAskOf),
        inbox: rowsOf("inbox", "seq", inbox.get(run)).map(storedItemOf),
        memories: rowsOf("memories", "number", memories.get(run)).map(storedMemoryOf),
      };
    },
    async *readBatches(runId) {
      const rows = database.prepare("SELECT * FROM event_batches WHERE first_seq = ?");
      for (const key of batches.get(runNumberOf(runId) ?? -1) ?? []) {
        const row = rows.get(key);
        if (row) yield batchOf(row);
      }
    },
    async *records() {
      const rows = database.prepare(
        `SELECT resource_type, resource_id, v.version AS last_version,
                r.version, r.value, r.updated_by, r.updated_at
         FROM records r FULL JOIN record_versions v USING (resource_type, resource_id)`,
      );
      for (const row of rows.iterate()) yield storedRecordOf(row);
    },
    async hasMemory(id) {
      return database.prepare("SELECT 1 FROM memories WHERE id = ?").get(id) !== undefined;
    },
    async *bodyHashes(kind) {
      if (kind === "artifact") {
        for await (const { hash } of artifacts.list()) yield hash;
        return;
      }
      const rows = database.prepare("SELECT hash FROM texts").all();
      for (const row of rows) yield String(row["hash"]);
    },
    async readBody(kind, hash) {
      if (kind === "artifact") return artifacts.read(hash);
      const row = database.prepare("SELECT body FROM texts WHERE hash = ?").get(hash);
      return row && String(row["body"]);
    },
    async references(runId) {
      const rows = database
        .prepare("SELECT hash FROM body_references WHERE run = ?")
        .all(runNumberOf(runId) ?? -1);
      const hashes = new Set(rows.map((row) => String(row["hash"])));
      return { through: metaOf("references_seq"), hashes };
    },
    async counters() {
      const row = database
        .prepare(
          `SELECT max(number) AS last FROM (SELECT max(number) AS number FROM runs
           UNION ALL SELECT max(number) FROM sub_agents UNION ALL SELECT max(number) FROM asks)`,
        )
        .get();
      return {
        nextNumber: metaOf("next_id"),
        lastNumber: Number(row?.["last"] ?? 0),
        referencesSeq: metaOf("references_seq"),
        misindexed: misindexed(database, metaOf("indexed_seq")),
      };
    },
    async close() {
      own?.close();
    },
  };
}

/** How many batches the index by run leaves out, or has for another run. */
function misindexed(database: DatabaseSync, through: number): number {
  const row = database
    .prepare(
      `SELECT (SELECT count(*) FROM event_batches b WHERE first_seq <= $through AND NOT EXISTS (
           SELECT 1 FROM run_index i WHERE i.run = b.run AND i.first_seq = b.first_seq))
         + (SELECT count(*) FROM run_index i JOIN event_batches b ON b.first_seq = i.first_seq
            WHERE b.run <> i.run) AS count`,
    )
    .get({ through });
  return Number(row?.["count"]);
}
