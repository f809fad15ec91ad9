import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import { memorySlot } from "../../events/memory-hash.ts";
import type { Clock } from "../../ports/clock.ts";
import { memoryNumberOf, numberOf, runNumberOf } from "../../ports/identity.ts";
import type {
  Memory,
  MemoryPlace,
  MemoryQuery,
  MemoryStore,
  NewMemory,
  SaveOutcome,
} from "../../ports/memory-store.ts";
import {
  memoryOf,
  memorySql,
  memoryValuesOf,
  requireMaySave,
  wordsOf,
} from "../shared/memory-row.ts";
import { storageError } from "./group-commit.ts";

export interface MemoryRowsOptions {
  readonly database: DatabaseSync;
  readonly clock: Clock;
  /** Only memories of this worker's runs can be saved. */
  readonly worker: string;
  readonly claimerOf: (memory: NewMemory) => string | undefined;
  /** Writes the queued appends. */
  readonly catchUp: () => void;
  /** False: behave as if SQLite had no full text search. For tests. */
  readonly fullText?: boolean;
}

/** Memories as rows. */
export class MemoryRows implements MemoryStore {
  readonly #options: MemoryRowsOptions;
  readonly #index: MemoryIndex | null;
  readonly #read: StatementSync;
  readonly #ofCall: StatementSync;
  readonly #standing: StatementSync;
  readonly #inSlot: StatementSync;
  readonly #insert: StatementSync;

  constructor(options: MemoryRowsOptions) {
    const { database } = options;
    this.#options = options;
    this.#index = options.fullText === false ? null : new MemoryIndex(database);
    this.#read = database.prepare(`SELECT ${columns} FROM ${tables} WHERE m.number = ?`);
    this.#ofCall = database.prepare(
      "SELECT number FROM memories WHERE sub_agent_id = ? AND call_id = ?",
    );
    this.#standing = database.prepare(
      `SELECT r.worker, s.status, (SELECT count(*) FROM memories WHERE run = r.number) AS count,
              (SELECT coalesce(max(number), 0) FROM memories) AS last
       FROM runs r JOIN sub_agents s ON s.run = r.number WHERE r.number = ? AND s.number = ?`,
    );
    this.#inSlot = database.prepare(
      `SELECT m.id FROM ${tables} WHERE m.slot = ? AND f.version IS NULL AND p.version IS NULL
       ORDER BY m.number DESC LIMIT 1`,
    );
    this.#insert = database.prepare(
      `INSERT INTO memories VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    );
  }

  async save(memory: NewMemory, mostOfRun: number): Promise<SaveOutcome> {
    // A listener may be called in the middle of a transaction.
    await undefined;
    // The events that led to a memory must be durable before the memory.
    this.#options.catchUp();
    const { database } = this.#options;
    try {
      database.exec("BEGIN IMMEDIATE");
      const outcome = this.#saveNow(memory, mostOfRun);
      database.exec("COMMIT");
      return outcome;
    } catch (error) {
      if (database.isTransaction) database.exec("ROLLBACK");
      throw storageError(error);
    }
  }

  async read(id: string): Promise<Memory | undefined> {
    return this.#readNow(memoryNumberOf(id) ?? -1);
  }

  async find(query: MemoryQuery): Promise<readonly Memory[]> {
    await undefined;
    const where = whereOf(query);
    const words = wordsOf(query.text ?? "");
    if (words.length === 0) {
      // A query of punctuation alone is searched literally.
      const said = query.text?.trim() ?? "";
      return this.#select(said === "" ? where : [...where, matchInTexts([said])], byAge, query);
    }
    const ranked = this.#findInIndex(words, where, query);
    if (ranked.length > 0) return ranked;
    // An empty page after the last result must not start the slower search.
    const isAtEnd = (query.offset ?? 0) > 0;
    const first = { ...query, limit: 1, offset: 0 };
    if (isAtEnd && this.#findInIndex(words, where, first).length > 0) return ranked;
    // Also finds words in scripts that put no space between words.
    return this.#select([...where, matchInTexts(words)], byAge, query);
  }

  #findInIndex(
    words: readonly string[],
    where: readonly SqlCondition[],
    query: MemoryQuery,
  ): readonly Memory[] {
    this.#index?.catchUp();
    if (!this.#index?.isReady) return [];
    const values = [this.#index.expressionOf(words)];
    return this.#select([...where, { sql: "memory_words MATCH ?", values }], byRank, query);
  }

  #saveNow(memory: NewMemory, mostOfRun: number): SaveOutcome {
    const { callId, delegationId, runId } = memory;
    const known = this.#ofCall.get(delegationId, callId);
    const saved = known && this.#readNow(Number(known["number"]));
    if (saved) return { saved: true, memory: saved, isNew: false };
    const run = runNumberOf(runId) ?? -1;
    const standing = this.#standing.get(run, numberOf(delegationId) ?? -1);
    const { claimerOf, worker } = this.#options;
    requireMaySave(memory, standing, (one) => one === worker, claimerOf(memory));
    if (Number(standing?.["count"]) >= mostOfRun) return { saved: false };
    const number = Number(standing?.["last"]) + 1;
    const slot = memorySlot(memory);
    const replaced = slot === null ? undefined : this.#inSlot.get(slot);
    this.#insert.run(
      ...memoryValuesOf(memory, {
        number,
        slot,
        supersedes: replaced === undefined ? null : String(replaced["id"]),
        createdAt: this.#options.clock.now(),
      }),
    );
    this.#index?.catchUp();
    const made = this.#readNow(number);
    if (made === undefined) throw new Error("the saved memory cannot be read back");
    return { saved: true, memory: made, isNew: true };
  }

  #readNow(number: number): Memory | undefined {
    const row = this.#read.get(number);
    return row && memoryOf(row);
  }

  #select(
    where: readonly SqlCondition[],
    { from, order }: typeof byAge,
    { limit, offset = 0 }: MemoryQuery,
  ): readonly Memory[] {
    const conditions = where.map(({ sql }) => `(${sql})`).join(" AND ") || "true";
    const values: SQLInputValue[] = where.flatMap((condition) => condition.values);
    return this.#options.database
      .prepare(
        // Texts are read last, and only those of the result.
        `SELECT ${columns} FROM (SELECT m.number AS found, ${order} AS place FROM ${from}
           WHERE ${conditions} ORDER BY place, m.number DESC LIMIT ? OFFSET ?)
         CROSS JOIN ${tables.replace("memories m", "memories m ON m.number = found")}
         ORDER BY place, m.number DESC`,
      )
      .all(...values, limit, offset)
      .map(memoryOf);
  }
}

const { columns, tables } = memorySql();

const byAge = { from: tables, order: "0" };

const byRank = {
  from: `memory_words JOIN ${tables.replace("memories m", "memories m ON m.number = memory_words.rowid")}`,
  order: "memory_words.rank",
};

/**
 * The words of memories, for SQLite's full text search. The index is derived from the rows: saving
 * updates it, and a search first indexes what a process without full text search saved. If SQLite
 * has no full text search, the texts are scanned instead.
 */
class MemoryIndex {
  readonly #database: DatabaseSync;
  #behind: StatementSync | undefined;
  #isMissing = false;

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  /** Indexes the rows that are not indexed yet, in the open transaction or in one of its own. */
  catchUp(): void {
    if (this.#isMissing) return;
    try {
      this.#behind ??= this.#prepare();
      if (this.#behind.get() === undefined) return;
      this.#database.exec(
        `INSERT INTO memory_words (rowid, text, tags) SELECT number, text, tags FROM memories
         WHERE number > ${lastIndexed}`,
      );
    } catch {
      // A slow search is better than a failed search or a failed save.
      this.#isMissing = true;
    }
  }

  get isReady(): boolean {
    return !this.#isMissing;
  }

  /** Matches any of the words; words of four letters and more also as a prefix. */
  expressionOf(words: readonly string[]): string {
    const asAsked = (word: string): string => (word.length < 4 ? `"${word}"` : `"${word}"*`);
    return words.map(asAsked).join(" OR ");
  }

  #prepare(): StatementSync {
    this.#database.exec(
      `CREATE VIRTUAL TABLE IF NOT EXISTS memory_words USING fts5(
         text, tags, content = '', tokenize = 'unicode61 remove_diacritics 2')`,
    );
    return this.#database.prepare(`SELECT 1 FROM memories WHERE number > ${lastIndexed} LIMIT 1`);
  }
}

/** FTS5 has a row here for each indexed text. */
const lastIndexed = "(SELECT coalesce(max(id), 0) FROM memory_words_docsize)";

const { isSuperseded } = memorySql();

export interface SqlCondition {
  readonly sql: string;
  readonly values: readonly (string | number | null)[];
}

/** All conditions of a query except its words. */
function whereOf({ all, near, tags = [] }: MemoryQuery): readonly SqlCondition[] {
  return [
    ...(near === undefined ? [] : [couldConcern(near)]),
    ...(all === true ? [] : [{ sql: `f.version IS NULL AND NOT (${isSuperseded})`, values: [] }]),
    ...tags.map((tag) => ({
      sql: "? IN (SELECT value FROM json_each(m.tags))",
      values: [tag],
    })),
  ];
}

/** Excludes memories that this reader certainly cannot see; the caller judges the others. */
function couldConcern({ formerly, runId, workspace }: MemoryPlace): SqlCondition {
  return {
    sql: `((m.scope = 'shared' OR p.version IS NOT NULL)
             AND (m.workspace IS NULL OR m.workspace = ?))
          OR m.run = ? OR m.sub_agent_id IN (SELECT value FROM json_each(?))`,
    values: [workspace, runNumberOf(runId) ?? -1, JSON.stringify(formerly)],
  };
}

/** Any of the parts, literally, in the text or the tags. */
function matchInTexts(parts: readonly string[]): SqlCondition {
  const pattern = (part: string): string =>
    `%${part.slice(0, 200).replaceAll(/[\\%_]/g, (character) => `\\${character}`)}%`;
  return {
    sql: parts.map(() => "(m.text || ' ' || m.tags) LIKE ? ESCAPE '\\'").join(" OR "),
    values: parts.map(pattern),
  };
}
