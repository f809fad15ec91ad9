import { runIdOf, runNumberOf } from "../../ports/identity.ts";
import type { Inspection, KeptHeads } from "../../ports/inspection.ts";
import type { ArtifactStore } from "../../ports/store.ts";
import { type Sql, type SqlDialect, sql } from "./sql.ts";
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
} from "./stored-rows.ts";

/** Tables whose rows belong to a run, and their keys. */
const tables = {
  event_batches: "first_seq",
  sub_agents: "number",
  inbox: "seq",
  memories: "number",
  asks: "number",
} as const;

type Table = keyof typeof tables;
type RunKeys = ReadonlyMap<Table, ReadonlyMap<number, readonly number[]>>;

/**
 * For each table, a statement that reads the run of each key in one pass. No index is used, because
 * an index is something to be checked.
 */
export function keyStatements(schema: string): readonly (readonly [Table, Sql])[] {
  return (Object.keys(tables) as Table[]).map((table) => [
    table,
    sql(`SELECT run, ${tables[table]} AS key FROM ${schema}${table} ORDER BY key`),
  ]);
}

export function runKeysOf(rows: readonly (readonly [Table, Iterable<Row>])[]): RunKeys {
  return new Map(rows.map(([table, found]) => [table, keysByRun(found)] as const));
}

export interface InspectedDatabase {
  readonly dialect: SqlDialect;
  readonly keys: RunKeys;
  readonly artifacts: ArtifactStore;
  readonly heads: KeptHeads | undefined;
  /** Reads from one snapshot. */
  query(statement: Sql): Promise<Iterable<Row>>;
  misindexed(): number;
  close(): Promise<void>;
}

const batchesAtOnce = 100;

/** Shows the rows of a snapshot as they are stored. */
export function inspectTables(inspected: InspectedDatabase): Inspection {
  const { artifacts, dialect, keys, query } = inspected;
  const { schema } = dialect;
  const decode = (row: Row): Row => dialect.decode(row);
  const first = async (statement: Sql): Promise<Row | undefined> => {
    const [row] = await query(statement);
    return row;
  };
  const metaOf = async (key: string): Promise<number> => {
    const row = await first(sql(`SELECT value FROM ${schema}meta WHERE key = ?`, key));
    return Number(row?.["value"] ?? 0);
  };
  const rowsOf = async (table: Table, wanted: readonly number[] = []): Promise<readonly Row[]> => {
    if (wanted.length === 0) return [];
    const key = tables[table];
    const text = `SELECT * FROM ${schema}${table} WHERE ${dialect.isIn(key)} ORDER BY ${key}`;
    return [...(await query(sql(text, wanted)))];
  };
  return {
    heads: inspected.heads,
    async runIds() {
      const rows = await query(sql(`SELECT number FROM ${schema}runs`));
      const known = new Set(Array.from(rows, (row) => Number(row["number"])));
      for (const byRun of keys.values()) for (const run of byRun.keys()) known.add(run);
      return [...known].sort((left, right) => left - right).map(runIdOf);
    },
    async *spans() {
      const text = `SELECT first_seq, run, count FROM ${schema}event_batches ORDER BY first_seq`;
      for (const row of await query(sql(text))) yield spanOf(row);
    },
    async readRows(runId) {
      const run = runNumberOf(runId) ?? -1;
      const row = await first(sql(`SELECT * FROM ${schema}runs WHERE number = ?`, run));
      const of = (table: Table) => rowsOf(table, keys.get(table)?.get(run));
      return {
        run: row && storedRunOf(decode(row)),
        delegations: (await of("sub_agents")).map(storedDelegationOf),
        asks: (await of("asks")).map(storedAskOf),
        inbox: (await of("inbox")).map((one) => storedItemOf(decode(one))),
        memories: (await of("memories")).map((one) => storedMemoryOf(decode(one))),
      };
    },
    async *readBatches(runId) {
      const all = keys.get("event_batches")?.get(runNumberOf(runId) ?? -1) ?? [];
      for (let from = 0; from < all.length; from += batchesAtOnce) {
        const rows = await rowsOf("event_batches", all.slice(from, from + batchesAtOnce));
        for (const row of rows) yield batchOf(row);
      }
    },
    async *records() {
      const rows = await query(
        sql(`SELECT resource_type, resource_id, v.version AS last_version,
               r.version, r.value, r.updated_by, r.updated_at
             FROM ${schema}records r
             FULL JOIN ${schema}record_versions v USING (resource_type, resource_id)`),
      );
      for (const row of rows) yield storedRecordOf(row);
    },
    async hasMemory(id) {
      const row = await first(sql(`SELECT 1 AS found FROM ${schema}memories WHERE id = ?`, id));
      return row !== undefined;
    },
    async *bodyHashes(kind) {
      if (kind === "artifact") {
        for await (const { hash } of artifacts.list()) yield hash;
        return;
      }
      const rows = [...(await query(sql(`SELECT hash FROM ${schema}texts`)))];
      for (const row of rows) yield String(row["hash"]);
    },
    async readBody(kind, hash) {
      if (kind === "artifact") return artifacts.read(hash);
      const row = await first(sql(`SELECT body FROM ${schema}texts WHERE hash = ?`, hash));
      return row && String(decode(row)["body"]);
    },
    async references(runId) {
      const text = `SELECT hash FROM ${schema}body_references WHERE run = ?`;
      const rows = await query(sql(text, runNumberOf(runId) ?? -1));
      const hashes = new Set(Array.from(rows, (row) => String(row["hash"])));
      return { through: await metaOf("references_seq"), hashes };
    },
    async counters() {
      const row = await first(
        sql(`SELECT max(number) AS last FROM (
               SELECT max(number) AS number FROM ${schema}runs
               UNION ALL SELECT max(number) FROM ${schema}sub_agents
               UNION ALL SELECT max(number) FROM ${schema}asks) AS numbers`),
      );
      return {
        nextNumber: await metaOf("next_id"),
        lastNumber: Number(row?.["last"] ?? 0),
        referencesSeq: await metaOf("references_seq"),
        misindexed: inspected.misindexed(),
      };
    },
    close: () => inspected.close(),
  };
}
