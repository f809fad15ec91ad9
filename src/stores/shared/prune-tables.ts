import type { NewEvent } from "../../events/event.ts";
import { numberOf } from "../../ports/identity.ts";
import type { StoredBatch, StoredMemory } from "../../ports/inspection.ts";
import { createdIn, hashesIn, type ReferringBatch, resumedFromIn } from "./body-sweep.ts";
import type { PreparedPrune, PruneRows } from "./prune-runs.ts";
import { rowsOf, runStepsAsync, type Sql, type SqlDialect, type Steps, sql } from "./sql.ts";
import { type Row, storedMemoryOf } from "./stored-rows.ts";

/** What pruning needs of a database. */
export interface PrunedDatabase {
  readonly dialect: SqlDialect;
  /** Tables of this database alone whose rows belong to a run. */
  readonly ownTables: readonly string[];
  query(statement: Sql): Promise<readonly Row[]>;
  /** One transaction that appends the returned events to the control log. May be retried. */
  commit(steps: () => Steps<readonly NewEvent[]>): Promise<void>;
  batchesOf(run: number): AsyncIterable<StoredBatch>;
  /** The events of those batches of some runs that resume other runs. */
  resumingBatches(runs: readonly number[]): Sql;
  /** The time, in milliseconds, as an SQL expression. */
  now(): string;
  /** Called in the transaction, before runs are removed. */
  onRemove?(removed: readonly PreparedPrune[], lastSeq: number): void;
}

/** Pruning, as statements for both databases. */
export class PruneTables implements PruneRows {
  readonly #database: PrunedDatabase;
  readonly #schema: string;

  constructor(database: PrunedDatabase) {
    this.#database = database;
    this.#schema = database.dialect.schema;
  }

  async takeTurn(everyMs: number): Promise<boolean> {
    const text = `INSERT INTO ${this.#schema}meta AS m VALUES ('pruned_at', ${this.#database.now()})
      ON CONFLICT (key) DO UPDATE SET value = excluded.value
      WHERE m.value <= excluded.value - ? RETURNING value`;
    return (await this.#query(text, everyMs)).length > 0;
  }

  async finishedRuns(before: number, after: number, limit: number) {
    const text = `SELECT number, outcome FROM ${this.#schema}runs
      WHERE outcome IS NOT NULL AND finished_at < ? AND number > ? ORDER BY number LIMIT ?`;
    const rows = await this.#query(text, before, after, limit);
    return rows.map((row) => ({ run: Number(row["number"]), outcome: String(row["outcome"]) }));
  }

  batchesOf(run: number): AsyncIterable<StoredBatch> {
    return this.#database.batchesOf(run);
  }

  async memoriesOf(run: number): Promise<readonly StoredMemory[]> {
    const rows = await this.#query(`SELECT * FROM ${this.#schema}memories WHERE run = ?`, run);
    return rows.map((row) => storedMemoryOf(this.#database.dialect.decode(row)));
  }

  async continuedRuns(): Promise<ReadonlySet<number>> {
    return runStepsAsync(this.#continued(), (statement) => this.#database.query(statement));
  }

  async remove(prepared: readonly PreparedPrune[]): Promise<ReadonlySet<number>> {
    let removed: readonly PreparedPrune[] = [];
    const prune = function* (this: PruneTables): Steps<readonly NewEvent[]> {
      removed = yield* this.#removable(prepared);
      if (removed.length > 0) yield* this.#remove(removed);
      return removed.map(({ receipt }): NewEvent => ({ type: "control.pruned", payload: receipt }));
    };
    await this.#database.commit(() => prune.call(this));
    return new Set(removed.map(({ run }) => run));
  }

  async forgetRequests(before: number): Promise<void> {
    const condition = "begun_at < ? AND status IS NOT NULL";
    await this.#query(`DELETE FROM ${this.#schema}request_keys WHERE ${condition}`, before);
  }

  async lastSeq(): Promise<number> {
    const [row] = await this.#database.query(this.#last);
    return Number(row?.["seq"] ?? 0);
  }

  async referencesThrough(): Promise<number> {
    const [row] = await this.#database.query(this.#through);
    return Number(row?.["value"] ?? 0);
  }

  async batchesAfter(seq: number, upTo: number, limit: number): Promise<readonly ReferringBatch[]> {
    const text = `SELECT first_seq, run, events FROM ${this.#schema}event_batches
      WHERE first_seq > ? AND first_seq <= ? ORDER BY first_seq LIMIT ?`;
    return (await this.#query(text, seq, upTo, limit)) as unknown as readonly ReferringBatch[];
  }

  async contractsOf(delegations: readonly number[]): Promise<readonly string[]> {
    if (delegations.length === 0) return [];
    return textsOf(await this.#database.query(this.#contracts(delegations)), "context_json");
  }

  async textHashes(): Promise<readonly string[]> {
    return textsOf(await this.#query(`SELECT hash FROM ${this.#schema}texts`), "hash");
  }

  async addReferences(
    references: readonly (readonly [string, number])[],
    through: number,
  ): Promise<void> {
    const { dialect } = this.#database;
    // A run that has been pruned in the meantime references nothing.
    const add = sql(
      `INSERT INTO ${this.#schema}body_references SELECT v.hash, v.run FROM (${dialect.pairs}) AS v
       WHERE v.run = 0 OR v.run IN (SELECT number FROM ${this.#schema}runs) ON CONFLICT DO NOTHING`,
      JSON.stringify(references),
    );
    const move = sql(
      `INSERT INTO ${this.#schema}meta AS m VALUES ('references_seq', ?) ON CONFLICT (key)
       DO UPDATE SET value = ${dialect.greatest}(m.value, excluded.value)`,
      through,
    );
    await this.#database.commit(function* () {
      yield [add, move];
      return [];
    });
  }

  async referredTo(hashes: readonly string[]): Promise<ReadonlySet<string>> {
    const condition = this.#database.dialect.isIn("hash");
    const text = `SELECT DISTINCT hash FROM ${this.#schema}body_references WHERE ${condition}`;
    return new Set(textsOf(await this.#query(text, hashes), "hash"));
  }

  async *textsOutsideLog(): AsyncGenerator<string> {
    const rows = await this.#query(
      `SELECT text FROM ${this.#schema}memories UNION ALL SELECT value FROM ${this.#schema}records`,
    );
    for (const row of rows) yield String(this.#database.dialect.decode(row)["text"]);
  }

  /** The runs that still are as they were when they were prepared, and that no open run resumes. */
  *#removable(prepared: readonly PreparedPrune[]): Steps<readonly PreparedPrune[]> {
    const continued = yield* this.#continued();
    const condition = this.#database.dialect.isIn("number");
    const text = `SELECT number, outcome, finished_at FROM ${this.#schema}runs WHERE ${condition}`;
    const found = yield* rowsOf(
      sql(
        text,
        prepared.map(({ run }) => run),
      ),
    );
    const stored = new Map(found.map((row) => [Number(row["number"]), row]));
    return prepared.filter(({ receipt, run }) => {
      const row = stored.get(run);
      const isSame =
        row?.["outcome"] === receipt.outcome && Number(row["finished_at"]) === receipt.finished_at;
      return isSame && !continued.has(run);
    });
  }

  *#remove(removed: readonly PreparedPrune[]): Steps<void> {
    const [last] = yield* rowsOf(this.#last);
    this.#database.onRemove?.(removed, Number(last?.["seq"] ?? 0));
    const { isIn } = this.#database.dialect;
    const from = (table: string, key: string, keys: readonly number[]): Sql =>
      sql(`DELETE FROM ${this.#schema}${table} WHERE ${isIn(key)}`, keys);
    const runs = removed.map(({ run }) => run);
    yield [
      from(
        "event_batches",
        "first_seq",
        removed.flatMap(({ batches }) => batches),
      ),
      from(
        "sub_agents",
        "number",
        removed.flatMap(({ delegations }) => delegations),
      ),
      from(
        "asks",
        "number",
        removed.flatMap(({ asks }) => asks),
      ),
      ...removed.map((one) => this.#removeItems(one)),
      ...[...this.#database.ownTables, "body_references"].map((table) => from(table, "run", runs)),
      from("runs", "number", runs),
    ];
    yield* this.#removeTexts();
  }

  /** An inbox item has the number of its event, so the numbers of a run limit the search. */
  #removeItems({ receipt, run }: PreparedPrune): Sql {
    const [first] = receipt.spans.at(0) ?? [0];
    const [last, count] = receipt.spans.at(-1) ?? [0, 0];
    const text = `DELETE FROM ${this.#schema}inbox WHERE seq >= ? AND seq < ? AND run = ?`;
    return sql(text, first, last + count, run);
  }

  /** Removes texts without references, including references that are not in the table yet. */
  *#removeTexts(): Steps<void> {
    const [meta] = yield* rowsOf(this.#through);
    const text = `SELECT events FROM ${this.#schema}event_batches WHERE first_seq > ?`;
    const events = textsOf(yield* rowsOf(sql(text, Number(meta?.["value"] ?? 0))), "events");
    const created = yield* rowsOf(this.#contracts(events.flatMap(createdIn)));
    const named = new Set([...events, ...textsOf(created, "context_json")].flatMap(hashesIn));
    yield [
      sql(
        `DELETE FROM ${this.#schema}texts AS t WHERE NOT (${this.#database.dialect.isIn("t.hash")})
         AND NOT EXISTS (SELECT 1 FROM ${this.#schema}body_references u WHERE u.hash = t.hash)`,
        [...named],
      ),
    ];
  }

  *#continued(): Steps<ReadonlySet<number>> {
    const { dialect, resumingBatches } = this.#database;
    const open = yield* rowsOf(sql(`SELECT number FROM ${this.#schema}runs WHERE outcome IS NULL`));
    const continued = new Set<number>();
    let runs = open.map((row) => Number(row["number"]));
    while (runs.length > 0) {
      const events = textsOf(yield* rowsOf(resumingBatches(runs)), "events");
      const ids = events.flatMap(resumedFromIn).flatMap((id) => numberOf(id) ?? []);
      const condition = dialect.isIn("number");
      const text = `SELECT DISTINCT run FROM ${this.#schema}sub_agents WHERE ${condition}`;
      const earlier = yield* rowsOf(sql(text, ids));
      runs = earlier.map((row) => Number(row["run"])).filter((run) => !continued.has(run));
      for (const run of runs) continued.add(run);
    }
    return continued;
  }

  get #last(): Sql {
    const seq = "first_seq + count - 1 AS seq";
    return sql(`SELECT ${seq} FROM ${this.#schema}event_batches ORDER BY first_seq DESC LIMIT 1`);
  }

  get #through(): Sql {
    return sql(`SELECT value FROM ${this.#schema}meta WHERE key = 'references_seq'`);
  }

  #contracts(delegations: readonly number[]): Sql {
    const condition = this.#database.dialect.isIn("number");
    const text = `SELECT context_json FROM ${this.#schema}sub_agents WHERE ${condition}`;
    return sql(text, delegations);
  }

  #query(text: string, ...values: Sql["values"]): Promise<readonly Row[]> {
    return this.#database.query({ text, values });
  }
}

function textsOf(rows: readonly Row[], column: string): readonly string[] {
  return rows.map((row) => String(row[column]));
}
