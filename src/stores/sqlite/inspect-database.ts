import { DatabaseSync } from "node:sqlite";
import { askIdOf, runIdOf, runNumberOf } from "../../ports/identity.ts";
import type {
  Inspection,
  LogSpan,
  StoredBatch,
  StoredMemory,
  StoredRecord,
  StoredRows,
} from "../../ports/inspection.ts";
import { inboxItemOfRow } from "./inbox-rows.ts";

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
  const batches = keysByRun(database, "SELECT run, first_seq AS key FROM event_batches");
  const delegations = keysByRun(database, "SELECT run, number AS key FROM sub_agents");
  const inbox = keysByRun(database, "SELECT run, seq AS key FROM inbox");
  const memories = keysByRun(database, "SELECT run, number AS key FROM memories");
  return {
    async runIds() {
      const rows = database.prepare("SELECT number FROM runs").all();
      const runs = rows.map((row) => Number(row["number"]));
      const rowsOf = [batches, delegations, inbox, memories].flatMap((rows) => [...rows.keys()]);
      const known = new Set([...runs, ...rowsOf]);
      return [...known].sort((left, right) => left - right).map(runIdOf);
    },
    async *spans() {
      const rows = database.prepare("SELECT first_seq, run, count FROM event_batches ORDER BY 1");
      for (const row of rows.iterate()) yield spanOf(row);
    },
    async readRows(runId) {
      const run = runNumberOf(runId) ?? -1;
      return {
        run: runOf(database, run),
        delegations: (delegations.get(run) ?? []).flatMap((key) => delegationOf(database, key)),
        asks: asksOf(database, run),
        inbox: (inbox.get(run) ?? []).flatMap((key) => inboxItemsOf(database, key)),
        memories: (memories.get(run) ?? []).flatMap((key) => memoriesOf(database, key)),
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
      for (const row of rows.iterate()) yield recordOf(row);
    },
    async hasMemory(id) {
      return database.prepare("SELECT 1 FROM memories WHERE id = ?").get(id) !== undefined;
    },
    async close() {
      own?.close();
    },
  };
}

type Row = Readonly<Record<string, unknown>>;

function keysByRun(database: DatabaseSync, select: string): ReadonlyMap<number, number[]> {
  const keys = new Map<number, number[]>();
  for (const row of database.prepare(`${select} ORDER BY key`).iterate()) {
    const run = Number(row["run"]);
    const others = keys.get(run);
    if (others) others.push(Number(row["key"]));
    else keys.set(run, [Number(row["key"])]);
  }
  return keys;
}

function spanOf(row: Row): LogSpan {
  return {
    runId: runIdOf(Number(row["run"])),
    firstSeq: Number(row["first_seq"]),
    count: Number(row["count"]),
  };
}

function batchOf(row: Row): StoredBatch {
  return {
    ...spanOf(row),
    firstRunSeq: Number(row["first_run_seq"]),
    hash: String(row["hash"]),
    text: String(row["events"]),
  };
}

function runOf(database: DatabaseSync, run: number): StoredRows["run"] {
  const row = database.prepare("SELECT * FROM runs WHERE number = ?").get(run);
  return (
    row && {
      outcome: textOrNull(row["outcome"]),
      worker: String(row["worker"]),
      fence: Number(row["fence"]),
      delegations: Number(row["delegations"]),
      tokens: Number(row["tokens"]),
      cost: Number(row["cost"]),
    }
  );
}

function delegationOf(database: DatabaseSync, number: number): StoredRows["delegations"] {
  const row = database.prepare("SELECT * FROM sub_agents WHERE number = ?").get(number);
  if (row === undefined) return [];
  return [
    {
      id: String(row["id"]),
      status: String(row["status"]),
      closeReason: textOrNull(row["close_reason"]),
      contractHash: String(row["contract_hash"]),
      contextJson: String(row["context_json"]),
    },
  ];
}

function asksOf(database: DatabaseSync, run: number): StoredRows["asks"] {
  return database
    .prepare("SELECT * FROM asks WHERE run = ?")
    .all(run)
    .map((row) => ({
      id: askIdOf(Number(row["number"])),
      delegationId: String(row["sub_agent_id"]),
      answered: row["answered"] === 1,
    }));
}

function inboxItemsOf(database: DatabaseSync, seq: number): StoredRows["inbox"] {
  const row = database.prepare("SELECT * FROM inbox WHERE seq = ?").get(seq);
  return row === undefined ? [] : [inboxItemOfRow(row)];
}

function memoriesOf(database: DatabaseSync, number: number): readonly StoredMemory[] {
  const row = database.prepare("SELECT * FROM memories WHERE number = ?").get(number);
  if (row === undefined) return [];
  return [
    {
      id: String(row["id"]),
      delegationId: String(row["sub_agent_id"]),
      callId: String(row["call_id"]),
      lineage: String(row["lineage"]),
      profile: String(row["profile"]),
      workspace: textOrNull(row["workspace"]),
      scope: String(row["scope"]),
    },
  ];
}

function recordOf(row: Row): StoredRecord {
  return {
    resourceType: String(row["resource_type"]),
    resourceId: String(row["resource_id"]),
    lastVersion: row["last_version"] === null ? null : Number(row["last_version"]),
    now:
      row["version"] === null
        ? null
        : {
            version: Number(row["version"]),
            text: String(row["value"]),
            updatedBy: String(row["updated_by"]),
            updatedAt: Number(row["updated_at"]),
          },
  };
}

function textOrNull(value: unknown): string | null {
  return value === null ? null : String(value);
}
