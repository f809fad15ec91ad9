import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { Clock } from "../../ports/clock.ts";
import type { MemoryStore, NewMemory } from "../../ports/memory-store.ts";
import { MemoryTables, onNumber } from "../shared/memory-tables.ts";
import { runSteps, sql } from "../shared/sql.ts";
import { changeNow } from "./group-commit.ts";
import { all, dialect } from "./sql-dialect.ts";

export interface MemoryOptions {
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

export function openMemories(options: MemoryOptions): MemoryStore {
  const { catchUp, claimerOf, clock, database, worker } = options;
  const index = options.fullText === false ? null : new MemoryIndex(database);
  return new MemoryTables({
    ...{ dialect, claimerOf, join: "CROSS JOIN", ownPlaces: [] },
    ownValues: () => [],
    now: () => clock.now(),
    isOurs: (one) => one === worker,
    query: async (statement) => all(database, statement),
    transact(steps) {
      const change = () => {
        const result = runSteps(steps(), (statement) => all(database, statement));
        index?.catchUp();
        return result;
      };
      // The events that led to a memory must be durable before the memory.
      return changeNow(database, change, catchUp);
    },
    hasTags: (tags) => tags.map((tag) => sql("? IN (SELECT value FROM json_each(m.tags))", tag)),
    matchesAny(patterns) {
      const condition = "(m.text || ' ' || m.tags) LIKE ? ESCAPE '\\'";
      return sql(patterns.map(() => condition).join(" OR "), ...patterns);
    },
    search(words, tables) {
      index?.catchUp();
      if (!index?.isReady) return undefined;
      return {
        from: `memory_words JOIN ${onNumber(tables, "memory_words.rowid")}`,
        condition: sql("memory_words MATCH ?", index.expressionOf(words)),
        order: sql("memory_words.rank"),
      };
    },
  });
}

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
