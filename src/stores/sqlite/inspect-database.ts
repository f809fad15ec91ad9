import { DatabaseSync } from "node:sqlite";
import { runIdOf, runNumberOf } from "../../ports/identity.ts";
import type { Inspection } from "../../ports/inspection.ts";
import { inboxItemOfRow } from "../shared/inbox-row.ts";
import {
  batchOf,
  keysByRun,
  type Row,
  spanOf,
  storedAskOf,
  storedDelegationOf,
  storedMemoryOf,
  storedRecordOf,
  storedRunOf,
} from "../shared/inspected-rows.ts";

/**
 * Reads rows as they stand, in one read transaction of its own, so that what others write meanwhile
 * is not seen by half. A database in memory has one connection only; there the caller sees to it
 * that nobody writes.
 */
export function inspectDatabase(live: DatabaseSync): Inspection {
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
  const rowsOf = (table: string, key: string, keys: readonly number[] = []): readonly Row[] => {
    const statement = database.prepare(`SELECT * FROM ${table} WHERE ${key} = ?`);
    return keys.flatMap((value) => statement.all(value));
  };
  return {
    async runIds() {
      const rows = database.prepare("SELECT number FROM runs").all();
      const runs = rows.map((row) => Number(row["number"]));
      const others = [batches, delegations, inbox, memories].flatMap((keys) => [...keys.keys()]);
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
      const asks = database.prepare("SELECT * FROM asks WHERE run = ?").all(run);
      return {
        run: row && storedRunOf(row),
        delegations: rowsOf("sub_agents", "number", delegations.get(run)).map(storedDelegationOf),
        asks: asks.map(storedAskOf),
        inbox: rowsOf("inbox", "seq", inbox.get(run)).map(inboxItemOfRow),
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
    async close() {
      own?.close();
    },
  };
}
