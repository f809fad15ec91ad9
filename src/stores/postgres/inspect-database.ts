import { runIdOf, runNumberOf } from "../../ports/identity.ts";
import type { Inspection } from "../../ports/inspection.ts";
import { inboxItemOfRow } from "../shared/inbox-row.ts";
import {
  batchOf,
  keysByRun,
  spanOf,
  storedAskOf,
  storedDelegationOf,
  storedMemoryOf,
  storedRecordOf,
  storedRunOf,
} from "../shared/inspected-rows.ts";
import { type Database, type Row, run } from "./database.ts";
import { decodeRow } from "./stored-text.ts";

/**
 * Reads rows as they stand, on a connection of its own and as of one moment, so that what others
 * write meanwhile is not seen by half.
 */
export async function inspectDatabase(database: Database): Promise<Inspection> {
  const { quoted } = database.schema;
  const client = await database.connect({ timeouts: false });
  // Events, contracts and values of records are JSON and stand as they are, see encodeText.
  const all = (text: string, values: readonly unknown[] = []): Promise<readonly Row[]> =>
    run(client, { text, values });
  const keysOf = async (table: string, key: string) =>
    keysByRun(await all(`SELECT run, ${key} AS key FROM ${quoted}.${table} ORDER BY key`));
  await client.query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
  // One pass each, and by no index: an index is something to be checked.
  const batches = await keysOf("event_batches", "first_seq");
  const delegations = await keysOf("sub_agents", "number");
  const inbox = await keysOf("inbox", "seq");
  const memories = await keysOf("memories", "number");
  const asks = await keysOf("asks", "number");
  const rowsOf = (table: string, key: string, keys: readonly number[] = []) =>
    keys.length === 0
      ? []
      : all(`SELECT * FROM ${quoted}.${table} WHERE ${key} = ANY($1) ORDER BY ${key}`, [keys]);
  return {
    async runIds() {
      const runs = await all(`SELECT number FROM ${quoted}.runs`);
      const others = [batches, delegations, inbox, memories].flatMap((keys) => [...keys.keys()]);
      const known = new Set([...runs.map((row) => Number(row["number"])), ...others]);
      return [...known].sort((left, right) => left - right).map(runIdOf);
    },
    async *spans() {
      for (const row of await all(
        `SELECT first_seq, run, count FROM ${quoted}.event_batches ORDER BY first_seq`,
      )) {
        yield spanOf(row);
      }
    },
    async readRows(runId) {
      const number = runNumberOf(runId) ?? -1;
      const [row] = await all(`SELECT * FROM ${quoted}.runs WHERE number = $1`, [number]);
      return {
        run: row && storedRunOf(decodeRow(row)),
        delegations: (await rowsOf("sub_agents", "number", delegations.get(number))).map(
          storedDelegationOf,
        ),
        asks: (await rowsOf("asks", "number", asks.get(number))).map(storedAskOf),
        inbox: (await rowsOf("inbox", "seq", inbox.get(number))).map((row) =>
          inboxItemOfRow(decodeRow(row)),
        ),
        memories: (await rowsOf("memories", "number", memories.get(number))).map((row) =>
          storedMemoryOf(decodeRow(row)),
        ),
      };
    },
    async *readBatches(runId) {
      const keys = batches.get(runNumberOf(runId) ?? -1) ?? [];
      for (let from = 0; from < keys.length; from += 100) {
        const rows = await rowsOf("event_batches", "first_seq", keys.slice(from, from + 100));
        for (const row of rows) yield batchOf(row);
      }
    },
    async *records() {
      const rows = await all(
        `SELECT resource_type, resource_id, v.version AS last_version,
                r.version, r.value, r.updated_by, r.updated_at
         FROM ${quoted}.records r FULL JOIN ${quoted}.record_versions v USING (resource_type, resource_id)`,
      );
      for (const row of rows) yield storedRecordOf(row);
    },
    async hasMemory(id) {
      const rows = await all(`SELECT 1 FROM ${quoted}.memories WHERE id = $1`, [id]);
      return rows.length > 0;
    },
    close: () => database.disconnect(client),
  };
}
