import { runIdOf, runNumberOf } from "../../ports/identity.ts";
import type { Inspection } from "../../ports/inspection.ts";
import type { ArtifactStore } from "../../ports/store.ts";
import {
  batchOf,
  keysByRun,
  spanOf,
  storedAskOf,
  storedDelegationOf,
  storedItemOf,
  storedMemoryOf,
  storedRecordOf,
  storedRunOf,
} from "../shared/stored-rows.ts";
import { type Database, type Row, run } from "./database.ts";
import { decodeRow } from "./stored-text.ts";

/**
 * Reads rows as they stand, on a connection of its own and as of one moment, so that what others
 * write at the same time is not seen in part.
 */
export async function inspectDatabase(
  database: Database,
  artifacts: ArtifactStore,
): Promise<Inspection> {
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
  const metaOf = async (key: string): Promise<number> => {
    const [row] = await all(`SELECT value FROM ${quoted}.meta WHERE key = $1`, [key]);
    return Number(row?.["value"] ?? 0);
  };
  return {
    // Several machines write to one database: none of them has all heads in a file of its own.
    heads: undefined,
    async runIds() {
      const runs = await all(`SELECT number FROM ${quoted}.runs`);
      const others = [batches, delegations, inbox, memories, asks].flatMap((keys) => [
        ...keys.keys(),
      ]);
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
          storedItemOf(decodeRow(row)),
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
    async *bodyHashes(kind) {
      if (kind === "artifact") {
        for await (const { hash } of artifacts.list()) yield hash;
        return;
      }
      for (const row of await all(`SELECT hash FROM ${quoted}.texts`)) yield String(row["hash"]);
    },
    async readBody(kind, hash) {
      if (kind === "artifact") return artifacts.read(hash);
      const [row] = await all(`SELECT body FROM ${quoted}.texts WHERE hash = $1`, [hash]);
      return row && String(decodeRow(row)["body"]);
    },
    async references(runId) {
      const text = `SELECT hash FROM ${quoted}.body_references WHERE run = $1`;
      const rows = await all(text, [runNumberOf(runId) ?? -1]);
      const hashes = new Set(rows.map((row) => String(row["hash"])));
      return { through: await metaOf("references_seq"), hashes };
    },
    async counters() {
      const [row] = await all(
        `SELECT greatest((SELECT max(number) FROM ${quoted}.runs),
           (SELECT max(number) FROM ${quoted}.sub_agents), (SELECT max(number) FROM ${quoted}.asks)) AS last`,
      );
      return {
        nextNumber: await metaOf("next_id"),
        lastNumber: Number(row?.["last"] ?? 0),
        referencesSeq: await metaOf("references_seq"),
        // Its indexes are those of the database itself.
        misindexed: 0,
      };
    },
    close: () => database.disconnect(client),
  };
}
