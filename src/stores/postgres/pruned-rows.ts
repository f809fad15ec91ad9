import type { Client } from "pg";
import type { NewEvent } from "../../events/event.ts";
import { numberOf } from "../../ports/identity.ts";
import type { StoredBatch, StoredMemory } from "../../ports/inspection.ts";
import { createdIn, hashesIn, type ReferringBatch, resumedFromIn } from "../shared/body-sweep.ts";
import type { PreparedPrune, PruneRows } from "../shared/prune-runs.ts";
import { batchOf, storedMemoryOf } from "../shared/stored-rows.ts";
import { type Database, type Row, run, type Statement } from "./database.ts";
import type { GroupCommit } from "./group-commit.ts";
import { decodeRow } from "./stored-text.ts";

type Query = (statement: Statement) => Promise<readonly Row[]>;

const pageSize = 200;

/** One tenant's part of a Postgres database, for pruning. */
export class PrunedRows implements PruneRows {
  readonly #database: Database;
  readonly #commits: GroupCommit;
  readonly #schema: string;

  constructor(database: Database, commits: GroupCommit) {
    this.#database = database;
    this.#commits = commits;
    this.#schema = database.schema.quoted;
  }

  async takeTurn(everyMs: number): Promise<boolean> {
    // By the clock of the database, which all have in common.
    const now = "(extract(epoch FROM now()) * 1000)::bigint";
    const taken = await this.#all(
      `INSERT INTO ${this.#schema}.meta AS m VALUES ('pruned_at', ${now}) ON CONFLICT (key) DO UPDATE
         SET value = excluded.value WHERE m.value <= excluded.value - $1::bigint RETURNING value`,
      everyMs,
    );
    return taken.length > 0;
  }

  async finishedRuns(before: number, after: number, limit: number) {
    const rows = await this.#all(
      `SELECT number, outcome FROM ${this.#schema}.runs
       WHERE outcome IS NOT NULL AND finished_at < $1 AND number > $2 ORDER BY number LIMIT $3`,
      ...[before, after, limit],
    );
    return rows.map((row) => ({ run: Number(row["number"]), outcome: String(row["outcome"]) }));
  }

  async *batchesOf(number: number): AsyncGenerator<StoredBatch> {
    for (let after = 0; ; ) {
      const rows = await this.#all(
        `SELECT * FROM ${this.#schema}.event_batches WHERE run = $1 AND first_seq > $2
         ORDER BY first_seq LIMIT ${pageSize}`,
        ...[number, after],
      );
      for (const row of rows) yield batchOf(row);
      if (rows.length < pageSize) return;
      after = Number(rows.at(-1)?.["first_seq"]);
    }
  }

  async memoriesOf(number: number): Promise<readonly StoredMemory[]> {
    const text = `SELECT * FROM ${this.#schema}.memories WHERE run = $1`;
    return (await this.#all(text, number)).map((row) => storedMemoryOf(decodeRow(row)));
  }

  continuedRuns(): Promise<ReadonlySet<number>> {
    return this.#continued((statement) => this.#database.query(statement));
  }

  async remove(prepared: readonly PreparedPrune[]): Promise<ReadonlySet<number>> {
    let removed: readonly PreparedPrune[] = [];
    await this.#commits.commitAlone(async (client) => {
      const query: Query = (statement) => run(client, statement);
      const continued = await this.#continued(query);
      const there = await query({
        text: `SELECT number, outcome, finished_at FROM ${this.#schema}.runs WHERE number = ANY($1)`,
        values: [prepared.map((one) => one.run)],
      });
      const standing = new Map(there.map((row) => [Number(row["number"]), row]));
      removed = prepared.filter(({ receipt, run: number }) => {
        const row = standing.get(number);
        const isSame =
          row?.["outcome"] === receipt.outcome &&
          Number(row["finished_at"]) === receipt.finished_at;
        return isSame && !continued.has(number);
      });
      if (removed.length > 0) await this.#removeNow(client, removed);
      return removed.map(({ receipt }): NewEvent => ({ type: "control.pruned", payload: receipt }));
    });
    return new Set(removed.map((one) => one.run));
  }

  async forgetRequests(before: number): Promise<void> {
    await this.#all(
      `DELETE FROM ${this.#schema}.request_keys WHERE begun_at < $1 AND status IS NOT NULL`,
      before,
    );
  }

  async lastSeq(): Promise<number> {
    const [row] = await this.#all(
      `SELECT first_seq + count - 1 AS seq FROM ${this.#schema}.event_batches ORDER BY first_seq DESC LIMIT 1`,
    );
    return Number(row?.["seq"] ?? 0);
  }

  referencesThrough(): Promise<number> {
    return this.#through((statement) => this.#database.query(statement));
  }

  async batchesAfter(seq: number, upTo: number, limit: number): Promise<readonly ReferringBatch[]> {
    const rows = await this.#all(
      `SELECT first_seq, run, events FROM ${this.#schema}.event_batches
       WHERE first_seq > $1 AND first_seq <= $2 ORDER BY first_seq LIMIT $3`,
      ...[seq, upTo, limit],
    );
    return rows as unknown as readonly ReferringBatch[];
  }

  contractsOf(delegations: readonly number[]): Promise<readonly string[]> {
    return this.#contracts((statement) => this.#database.query(statement), delegations);
  }

  async textHashes(): Promise<readonly string[]> {
    const rows = await this.#all(`SELECT hash FROM ${this.#schema}.texts`);
    return rows.map((row) => String(row["hash"]));
  }

  async addReferences(
    references: readonly (readonly [string, number])[],
    through: number,
  ): Promise<void> {
    await this.#commits.commitAlone(async (client) => {
      await run(client, {
        // A run that has been pruned since refers to nothing.
        text: `INSERT INTO ${this.#schema}.body_references
               SELECT v.hash, v.run FROM unnest($1::text[], $2::bigint[]) AS v(hash, run)
               WHERE v.run = 0 OR v.run IN (SELECT number FROM ${this.#schema}.runs)
               ON CONFLICT (hash, run) DO NOTHING`,
        values: [references.map(([hash]) => hash), references.map(([, number]) => number)],
      });
      await run(client, {
        text: `INSERT INTO ${this.#schema}.meta AS m VALUES ('references_seq', $1)
               ON CONFLICT (key) DO UPDATE SET value = greatest(m.value, excluded.value)`,
        values: [through],
      });
      return [];
    });
  }

  async referredTo(hashes: readonly string[]): Promise<ReadonlySet<string>> {
    const text = `SELECT DISTINCT hash FROM ${this.#schema}.body_references WHERE hash = ANY($1)`;
    const rows = await this.#database.query({ text, values: [hashes] });
    return new Set(rows.map((row) => String(row["hash"])));
  }

  async *textsBeside(): AsyncGenerator<string> {
    const rows = await this.#all(
      `SELECT text FROM ${this.#schema}.memories UNION ALL SELECT value FROM ${this.#schema}.records`,
    );
    for (const row of rows) yield String(decodeRow(row)["text"]);
  }

  async #through(query: Query): Promise<number> {
    const text = `SELECT value FROM ${this.#schema}.meta WHERE key = 'references_seq'`;
    const [row] = await query({ text });
    return Number(row?.["value"] ?? 0);
  }

  async #contracts(query: Query, delegations: readonly number[]): Promise<readonly string[]> {
    if (delegations.length === 0) return [];
    const text = `SELECT context_json FROM ${this.#schema}.sub_agents WHERE number = ANY($1)`;
    const rows = await query({ text, values: [delegations] });
    return rows.map((row) => String(row["context_json"]));
  }

  async #continued(query: Query): Promise<ReadonlySet<number>> {
    const open = await query({
      text: `SELECT number FROM ${this.#schema}.runs WHERE outcome IS NULL`,
    });
    const continued = new Set<number>();
    let looking = open.map((row) => Number(row["number"]));
    while (looking.length > 0) {
      const batches = await query({
        text: `SELECT events FROM ${this.#schema}.event_batches
               WHERE run = ANY($1) AND events LIKE '%"resumed_from":"%'`,
        values: [looking],
      });
      const ids = batches.flatMap((row) => resumedFromIn(String(row["events"])));
      const earlier = await query({
        text: `SELECT DISTINCT run FROM ${this.#schema}.sub_agents WHERE number = ANY($1)`,
        values: [ids.flatMap((id) => numberOf(id) ?? [])],
      });
      looking = earlier.map((row) => Number(row["run"])).filter((one) => !continued.has(one));
      for (const one of looking) continued.add(one);
    }
    return continued;
  }

  /** Under the lock, in the transaction that writes their receipts. */
  async #removeNow(client: Client, removed: readonly PreparedPrune[]): Promise<void> {
    const remove = (table: string, key: string, keys: readonly number[]) =>
      run(client, {
        text: `DELETE FROM ${this.#schema}.${table} WHERE ${key} = ANY($1::bigint[])`,
        values: [keys],
      });
    const runs = removed.map((one) => one.run);
    await Promise.all([
      remove(
        "event_batches",
        "first_seq",
        removed.flatMap(({ batches }) => batches),
      ),
      remove(
        "sub_agents",
        "number",
        removed.flatMap(({ delegations }) => delegations),
      ),
      remove(
        "asks",
        "number",
        removed.flatMap(({ asks }) => asks),
      ),
      remove("inbox", "run", runs),
      remove("body_references", "run", runs),
      remove("runs", "number", runs),
    ]);
    const query: Query = (statement) => run(client, statement);
    // What was added to the log since it was read for references may refer to texts as well.
    const since = await query({
      text: `SELECT events FROM ${this.#schema}.event_batches WHERE first_seq > $1`,
      values: [await this.#through(query)],
    });
    const events = since.map((row) => String(row["events"]));
    const contracts = await this.#contracts(query, events.flatMap(createdIn));
    await run(client, {
      text: `DELETE FROM ${this.#schema}.texts t WHERE t.hash <> ALL($1::text[])
             AND NOT EXISTS (SELECT 1 FROM ${this.#schema}.body_references u WHERE u.hash = t.hash)`,
      values: [[...new Set([...events, ...contracts].flatMap(hashesIn))]],
    });
  }

  #all(text: string, ...values: readonly (string | number)[]): Promise<readonly Row[]> {
    return this.#database.query({ text, values });
  }
}
