import type { DatabaseSync, StatementSync } from "node:sqlite";

/**
 * The words of memories, for SQLite's full text search. It follows from the rows: who saves keeps it
 * up to date, and who asks catches up with what a process without it has saved. Builds of SQLite
 * without full text search have none, and look through the texts instead.
 */
export class MemoryIndex {
  readonly #database: DatabaseSync;
  #behind: StatementSync | undefined;
  #isMissing = false;

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  /** Brings it up to the rows, in the transaction that is open or in one of its own. */
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
      // Searching slowly is better than not searching, or not saving.
      this.#isMissing = true;
    }
  }

  get isReady(): boolean {
    return !this.#isMissing;
  }

  /** What matches any of the words; longer ones also where a word only begins with them. */
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

/** FTS5 keeps a row here for each text that it has indexed. */
const lastIndexed = "(SELECT coalesce(max(id), 0) FROM memory_words_docsize)";
