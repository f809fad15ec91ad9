import type { Clock } from "../../ports/clock.ts";
import type { MemoryStore, NewMemory } from "../../ports/memory-store.ts";
import { foldWords, MemoryTables } from "../shared/memory-tables.ts";
import { runStepsAsync, sql } from "../shared/sql.ts";
import { type Database, run, runAll } from "./database.ts";
import { retry } from "./retry.ts";
import { dialectOf, statementOf } from "./sql-dialect.ts";
import { encodeText, wordVectorOf } from "./stored-text.ts";
import type { WorkerLease } from "./worker-lease.ts";
import type { WriteLine } from "./write-line.ts";

export interface MemoryOptions {
  readonly database: Database;
  readonly line: WriteLine;
  readonly lease: WorkerLease;
  readonly clock: Clock;
  readonly claimerOf: (memory: NewMemory) => string | undefined;
  /** Resolves when all earlier appends are written. */
  readonly settled: () => Promise<void>;
}

export function openMemories(options: MemoryOptions): MemoryStore {
  const { claimerOf, clock, database, lease, line, settled } = options;
  return new MemoryTables({
    ...{ dialect: dialectOf(database), claimerOf, join: "JOIN" },
    // What is searched: the tags as an array, and the words.
    ownPlaces: ["?::text[]", "?::tsvector"],
    ownValues: ({ tags, text }) => [tags.map(encodeText), wordVectorOf(text, tags)],
    now: () => clock.now(),
    isOurs: (worker) => [...lease.ours].some((our) => our === worker),
    query: (statement) => database.query(statementOf(statement)),
    async transact(steps) {
      // The events that led to a memory must be durable before the memory.
      await settled();
      const attempt = () =>
        line.run(async (client) => {
          await runAll(client, [
            "BEGIN ISOLATION LEVEL READ COMMITTED",
            `SELECT pg_catalog.pg_advisory_xact_lock(${database.schema.lock})`,
          ]);
          const query = (statement: Parameters<typeof statementOf>[0]) =>
            run(client, statementOf(statement));
          const result = await runStepsAsync(steps(), query);
          await client.query("COMMIT");
          return result;
        });
      try {
        // Retried after a lost answer, it finds the memory that it saved then.
        return await retry(clock, attempt, () => database.retryMs);
      } catch (error) {
        throw database.explain(error);
      }
    },
    hasTags: (tags) => [sql("m.tag_list @> ?::text[]", tags.map(encodeText))],
    matchesAny: (patterns) => sql("(m.text || ' ' || m.tags) ILIKE ANY (?::text[])", patterns),
    search(words, tables) {
      const folded = [...new Set(words.flatMap(foldWords))];
      if (folded.length === 0) return undefined;
      // Matches any of the words; words of four letters and more also as a prefix.
      const asQuery = (word: string) => (word.length < 4 ? `'${word}'` : `'${word}':*`);
      const query = folded.map(asQuery).join(" | ");
      return {
        from: tables,
        condition: sql("m.words @@ ?::tsquery", query),
        // The rank is divided by the length of the text, so that a long text is not preferred.
        order: sql("-pg_catalog.ts_rank(m.words, ?::tsquery, 1)", query),
      };
    },
  });
}
