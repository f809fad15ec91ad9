import type { DatabaseSync } from "node:sqlite";
import type { NewEvent } from "../../events/event.ts";
import type { Clock } from "../../ports/clock.ts";
import { numberOf } from "../../ports/identity.ts";
import type { LogHead, StoredBatch, StoredMemory } from "../../ports/inspection.ts";
import { createdIn, hashesIn, type ReferringBatch, resumedFromIn } from "../shared/body-sweep.ts";
import type { PreparedPrune, PruneRows } from "../shared/prune-runs.ts";
import { batchOf, storedMemoryOf } from "../shared/stored-rows.ts";
import type { BatchReader } from "./batch-rows.ts";
import type { GroupCommit } from "./group-commit.ts";
import type { HeadFile } from "./head-file.ts";

export interface PrunedRowsParts {
  readonly database: DatabaseSync;
  readonly reader: BatchReader;
  readonly commits: GroupCommit;
  readonly clock: Clock;
  readonly heads: HeadFile;
  /** Throws when the store is closed. */
  readonly requireOpen: () => void;
}

type Row = Readonly<Record<string, unknown>>;
type Value = string | number;

/** The embedded database, for pruning. */
export class PrunedRows implements PruneRows {
  readonly #parts: PrunedRowsParts;

  constructor(parts: PrunedRowsParts) {
    this.#parts = parts;
  }

  async takeTurn(everyMs: number): Promise<boolean> {
    const now = this.#parts.clock.now();
    const taken = await this.#all(
      `INSERT INTO meta VALUES ('pruned_at', ?) ON CONFLICT (key) DO UPDATE
         SET value = excluded.value WHERE value <= ? RETURNING value`,
      now,
      now - everyMs,
    );
    return taken.length > 0;
  }

  async finishedRuns(before: number, after: number, limit: number) {
    const rows = await this.#all(
      `SELECT number, outcome FROM runs WHERE outcome IS NOT NULL AND finished_at < ? AND number > ?
       ORDER BY number LIMIT ?`,
      ...[before, after, limit],
    );
    return rows.map((row) => ({ run: Number(row["number"]), outcome: String(row["outcome"]) }));
  }

  async *batchesOf(run: number): AsyncGenerator<StoredBatch> {
    await this.#yield();
    for (const row of this.#parts.reader.batchesOf(run)) yield batchOf({ ...row });
  }

  async memoriesOf(run: number): Promise<readonly StoredMemory[]> {
    return (await this.#all("SELECT * FROM memories WHERE run = ?", run)).map(storedMemoryOf);
  }

  async continuedRuns(): Promise<ReadonlySet<number>> {
    await this.#yield();
    return this.#continuedNow();
  }

  async remove(prepared: readonly PreparedPrune[]): Promise<ReadonlySet<number>> {
    await this.#yield();
    let removed: readonly PreparedPrune[] = [];
    const decide = (): readonly NewEvent[] => {
      const continued = this.#continuedNow();
      const isThere = this.#parts.database.prepare(
        "SELECT 1 FROM runs WHERE number = ? AND outcome = ? AND finished_at = ?",
      );
      removed = prepared.filter(
        ({ receipt, run }) =>
          !continued.has(run) && isThere.get(run, receipt.outcome, receipt.finished_at),
      );
      this.#parts.heads.notePruning(removed.map(endOf), this.#lastSeqNow());
      return removed.map(({ receipt }) => ({ type: "control.pruned", payload: receipt }));
    };
    this.#parts.commits.commitAlone(decide, () => this.#removeNow(removed));
    return new Set(removed.map(({ run }) => run));
  }

  async forgetRequests(before: number): Promise<void> {
    await this.#all("DELETE FROM request_keys WHERE begun_at < ? AND status IS NOT NULL", before);
  }

  async lastSeq(): Promise<number> {
    await this.#yield();
    return this.#lastSeqNow();
  }

  async referencesThrough(): Promise<number> {
    await this.#yield();
    return this.#throughNow();
  }

  async batchesAfter(seq: number, upTo: number, limit: number): Promise<readonly ReferringBatch[]> {
    const rows = await this.#all(
      "SELECT first_seq, run, events FROM event_batches WHERE first_seq > ? AND first_seq <= ? ORDER BY first_seq LIMIT ?",
      ...[seq, upTo, limit],
    );
    return rows as unknown as readonly ReferringBatch[];
  }

  async contractsOf(delegations: readonly number[]): Promise<readonly string[]> {
    return delegations.length === 0 ? [] : this.#contractsNow(delegations);
  }

  async textHashes(): Promise<readonly string[]> {
    return (await this.#all("SELECT hash FROM texts")).map((row) => String(row["hash"]));
  }

  async addReferences(
    references: readonly (readonly [string, number])[],
    through: number,
  ): Promise<void> {
    await this.#yield();
    const { commits, database } = this.#parts;
    commits.commitAlone(
      () => [],
      () => {
        // A run that has been pruned since refers to nothing.
        const insert = database.prepare(
          "INSERT OR IGNORE INTO body_references SELECT $hash, $run WHERE $run IN (SELECT number FROM runs) OR $run = 0",
        );
        for (const [hash, run] of references) insert.run({ hash, run });
        database
          .prepare(
            "INSERT INTO meta VALUES ('references_seq', ?) ON CONFLICT (key) DO UPDATE SET value = max(value, excluded.value)",
          )
          .run(through);
      },
    );
  }

  async referredTo(hashes: readonly string[]): Promise<ReadonlySet<string>> {
    await this.#yield();
    const find = this.#parts.database.prepare("SELECT 1 FROM body_references WHERE hash = ?");
    return new Set(hashes.filter((hash) => find.get(hash) !== undefined));
  }

  async *textsBeside(): AsyncGenerator<string> {
    const rows = await this.#all("SELECT text FROM memories UNION ALL SELECT value FROM records");
    for (const row of rows) yield String(row["text"]);
  }

  #lastSeqNow(): number {
    const row = this.#parts.database
      .prepare(
        "SELECT first_seq + count - 1 AS seq FROM event_batches ORDER BY first_seq DESC LIMIT 1",
      )
      .get();
    return Number(row?.["seq"] ?? 0);
  }

  #throughNow(): number {
    const { database } = this.#parts;
    const row = database.prepare("SELECT value FROM meta WHERE key = 'references_seq'").get();
    return Number(row?.["value"] ?? 0);
  }

  #contractsNow(delegations: readonly number[]): readonly string[] {
    const { database } = this.#parts;
    const read = database.prepare("SELECT context_json FROM sub_agents WHERE number = ?");
    return delegations.flatMap((number) => {
      const row = read.get(number);
      return row === undefined ? [] : [String(row["context_json"])];
    });
  }

  #continuedNow(): ReadonlySet<number> {
    const { database, reader } = this.#parts;
    const open = database.prepare("SELECT number FROM runs WHERE outcome IS NULL").all();
    const runOf = database.prepare("SELECT run FROM sub_agents WHERE number = ?");
    const continued = new Set<number>();
    const look = (run: number): void => {
      for (const { events } of reader.batchesOf(run)) {
        for (const id of resumedFromIn(events)) {
          const row = runOf.get(numberOf(id) ?? -1);
          const earlier = Number(row?.["run"] ?? -1);
          if (row === undefined || continued.has(earlier)) continue;
          continued.add(earlier);
          look(earlier);
        }
      }
    };
    for (const row of open) look(Number(row["number"]));
    return continued;
  }

  /** Inside of the transaction that has written their receipts. */
  #removeNow(removed: readonly PreparedPrune[]): void {
    const { database } = this.#parts;
    const each = (sql: string, keys: readonly (readonly Value[])[]): void => {
      const statement = database.prepare(sql);
      for (const values of keys) statement.run(...values);
    };
    const one = (numbers: readonly number[]): readonly (readonly number[])[] =>
      numbers.map((number) => [number]);
    for (const { asks, batches, delegations, receipt, run } of removed) {
      each("DELETE FROM event_batches WHERE first_seq = ?", one(batches));
      each("DELETE FROM sub_agents WHERE number = ?", one(delegations));
      each("DELETE FROM asks WHERE number = ?", one(asks));
      // An item of the inbox has the number of the event that it follows from.
      each(
        "DELETE FROM inbox WHERE seq >= ? AND seq < ? AND run = ?",
        receipt.spans.map(([first, count]) => [first, first + count, run]),
      );
      for (const table of ["run_index", "body_references"]) {
        each(`DELETE FROM ${table} WHERE run = ?`, [[run]]);
      }
      each("DELETE FROM runs WHERE number = ?", [[run]]);
    }
    this.#removeTexts();
  }

  /** Those that nothing refers to, also nothing that was added to the log since it was read for it. */
  #removeTexts(): void {
    const { database } = this.#parts;
    const since = database
      .prepare("SELECT events FROM event_batches WHERE first_seq > ?")
      .all(this.#throughNow())
      .map((row) => String(row["events"]));
    const contracts = this.#contractsNow(since.flatMap(createdIn));
    const named = new Set([...since, ...contracts].flatMap(hashesIn));
    const loose = database
      .prepare("SELECT hash FROM texts WHERE hash NOT IN (SELECT hash FROM body_references)")
      .all();
    const remove = database.prepare("DELETE FROM texts WHERE hash = ?");
    for (const row of loose) if (!named.has(String(row["hash"]))) remove.run(String(row["hash"]));
  }

  async #all(sql: string, ...values: readonly Value[]): Promise<readonly Row[]> {
    await this.#yield();
    return this.#parts.database.prepare(sql).all(...values);
  }

  /**
   * Others have their turn between two steps, and a listener that gets an event in the middle of a
   * transaction does nothing in that transaction.
   */
  async #yield(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    this.#parts.requireOpen();
  }
}

function endOf({ receipt }: PreparedPrune): LogHead {
  const [first, count] = receipt.spans.at(-1) ?? [0, 0];
  return { runId: receipt.run, seq: first + count - 1, hash: receipt.head };
}
