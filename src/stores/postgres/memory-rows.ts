import type { Client } from "pg";
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
  foldWords,
  type MemorySql,
  memoryOf,
  memorySql,
  memoryValuesOf,
  requireMaySave,
  wordsOf,
} from "../shared/memory-row.ts";
import { type Database, type Row, run, runAll, type Statement } from "./database.ts";
import { retry } from "./retry.ts";
import { decodeRow, encodeOrNull, encodeText, wordVectorOf } from "./stored-text.ts";
import type { WorkerLease } from "./worker-lease.ts";
import type { WriteLine } from "./write-line.ts";

export interface MemoryRowsOptions {
  readonly database: Database;
  readonly line: WriteLine;
  readonly lease: WorkerLease;
  readonly clock: Clock;
  readonly claimerOf: (memory: NewMemory) => string | undefined;
  /** Resolves when all earlier appends are written. */
  readonly settled: () => Promise<void>;
}

/** Memories as rows. */
export class MemoryRows implements MemoryStore {
  readonly #options: MemoryRowsOptions;
  readonly #schema: string;
  readonly #sql: MemorySql;

  constructor(options: MemoryRowsOptions) {
    this.#options = options;
    this.#schema = options.database.schema.quoted;
    this.#sql = memorySql(`${this.#schema}.`);
  }

  async save(memory: NewMemory, mostOfRun: number): Promise<SaveOutcome> {
    const { clock, database, line, settled } = this.#options;
    // The events that led to a memory must be durable before the memory.
    await settled();
    try {
      // Retried after a lost answer, it finds the memory that it saved then.
      return await retry(
        clock,
        () => line.run((client) => this.#saveNow(client, memory, mostOfRun)),
        () => database.retryMs,
      );
    } catch (error) {
      throw database.explain(error);
    }
  }

  async read(id: string): Promise<Memory | undefined> {
    const [row] = await this.#options.database.query(this.#byNumber(memoryNumberOf(id) ?? -1));
    return row && memoryOf(decodeRow(row));
  }

  async find(query: MemoryQuery): Promise<readonly Memory[]> {
    const words = wordsOf(query.text ?? "");
    const where = (): MemoryConditions => new MemoryConditions(query, this.#sql);
    if (words.length === 0) {
      // A query of punctuation alone is searched literally.
      const said = query.text?.trim() ?? "";
      return this.#select(said === "" ? where() : where().containAny([said]), "0", query);
    }
    const ranked = await this.#findByWords(where(), words, query);
    if (ranked.length > 0) return ranked;
    // An empty page after the last result must not start the slower search.
    const isAtEnd = (query.offset ?? 0) > 0;
    const first = { ...query, limit: 1, offset: 0 };
    if (isAtEnd && (await this.#findByWords(where(), words, first)).length > 0) return ranked;
    // Also finds words in scripts that put no space between words.
    return this.#select(where().containAny(words), "0", query);
  }

  async #findByWords(
    where: MemoryConditions,
    words: readonly string[],
    query: MemoryQuery,
  ): Promise<readonly Memory[]> {
    const folded = [...new Set(words.flatMap(foldWords))];
    if (folded.length === 0) return [];
    const words_ = where.haveWords(folded);
    // The rank is divided by the length of the text, so that a long text is not preferred.
    return this.#select(where, `-pg_catalog.ts_rank(m.words, ${words_}, 1)`, query);
  }

  async #saveNow(client: Client, memory: NewMemory, mostOfRun: number): Promise<SaveOutcome> {
    const { database, lease } = this.#options;
    await runAll(client, [
      "BEGIN ISOLATION LEVEL READ COMMITTED",
      `SELECT pg_catalog.pg_advisory_xact_lock(${database.schema.lock})`,
    ]);
    const outcome = await this.#decide(client, memory, mostOfRun, [...lease.ours]);
    await client.query("COMMIT");
    return outcome;
  }

  async #decide(
    client: Client,
    memory: NewMemory,
    mostOfRun: number,
    ours: readonly string[],
  ): Promise<SaveOutcome> {
    const { callId, delegationId, runId } = memory;
    const [known] = await run(client, {
      text: `SELECT number FROM ${this.#schema}.memories WHERE sub_agent_id = $1 AND call_id = $2`,
      values: [encodeText(delegationId), encodeText(callId)],
    });
    if (known) {
      const saved = await this.#readIn(client, Number(known["number"]));
      return { saved: true, memory: saved, isNew: false };
    }
    const [standing] = await run(client, {
      text: `SELECT r.worker, s.status, (SELECT count(*) FROM ${this.#schema}.memories WHERE run = r.number) AS count,
                    (SELECT coalesce(max(number), 0) FROM ${this.#schema}.memories) AS last
             FROM ${this.#schema}.runs r JOIN ${this.#schema}.sub_agents s ON s.run = r.number
             WHERE r.number = $1 AND s.number = $2`,
      values: [runNumberOf(runId) ?? -1, numberOf(delegationId) ?? -1],
    });
    const isOurs = (one: unknown): boolean => ours.some((our) => our === one);
    requireMaySave(memory, standing, isOurs, this.#options.claimerOf(memory));
    if (Number(standing?.["count"]) >= mostOfRun) return { saved: false };
    const number = Number(standing?.["last"]) + 1;
    await run(client, this.#insert(memory, number, await this.#replacedBy(client, memory)));
    return { saved: true, memory: await this.#readIn(client, number), isNew: true };
  }

  async #replacedBy(client: Client, memory: NewMemory): Promise<string | null> {
    const slot = memorySlot(memory);
    if (slot === null) return null;
    const [row] = await run(client, {
      text: `SELECT m.id FROM ${this.#sql.tables} WHERE m.slot = $1 AND f.version IS NULL AND p.version IS NULL
             ORDER BY m.number DESC LIMIT 1`,
      values: [encodeText(slot)],
    });
    return row === undefined ? null : String(row["id"]);
  }

  #insert(memory: NewMemory, number: number, supersedes: string | null): Statement {
    const { tags, text } = memory;
    const createdAt = this.#options.clock.now();
    const values = memoryValuesOf(memory, {
      number,
      slot: memorySlot(memory),
      supersedes,
      createdAt,
    });
    const encoded = values.map((value) => (typeof value === "string" ? encodeText(value) : value));
    const places = encoded.map((_, index) => `$${index + 1}`);
    return {
      text: `INSERT INTO ${this.#schema}.memories VALUES (${places.join(", ")}, $16::text[], $17::tsvector)`,
      values: [...encoded, tags.map(encodeText), wordVectorOf(text, tags)],
    };
  }

  async #readIn(client: Client, number: number): Promise<Memory> {
    const [row] = await run(client, this.#byNumber(number));
    if (row === undefined) throw new Error("the saved memory cannot be read back");
    return memoryOf(decodeRow(row));
  }

  #byNumber(number: number): Statement {
    return {
      text: `SELECT ${this.#sql.columns} FROM ${this.#sql.tables} WHERE m.number = $1`,
      values: [number],
    };
  }

  async #select(
    where: MemoryConditions,
    order: string,
    { limit, offset = 0 }: MemoryQuery,
  ): Promise<readonly Memory[]> {
    const [most, from] = [where.value(limit), where.value(offset)];
    const rows: readonly Row[] = await this.#options.database.query({
      // Texts are read last, and only those of the result.
      text: `SELECT ${this.#sql.columns} FROM (
               SELECT m.number AS found, ${order} AS place FROM ${this.#sql.tables} WHERE ${where.sql}
               ORDER BY place, m.number DESC LIMIT ${most} OFFSET ${from}) best
             JOIN ${this.#sql.tables.replace("memories m", "memories m ON m.number = best.found")}
             ORDER BY best.place, m.number DESC`,
      values: where.values,
    });
    return rows.map((row) => memoryOf(decodeRow(row)));
  }
}

/** Conditions with their values, numbered in order. */
class MemoryConditions {
  readonly values: unknown[] = [];
  readonly #conditions: string[] = [];

  constructor({ all, near, tags = [] }: MemoryQuery, { isSuperseded }: MemorySql) {
    if (near !== undefined) this.#nearby(near);
    if (all !== true) this.#conditions.push(`f.version IS NULL AND NOT (${isSuperseded})`);
    if (tags.length > 0) {
      this.#conditions.push(`m.tag_list @> ${this.value(tags.map(encodeText))}::text[]`);
    }
  }

  get sql(): string {
    return this.#conditions.map((condition) => `(${condition})`).join(" AND ") || "true";
  }

  value(value: unknown): string {
    this.values.push(value);
    return `$${this.values.length}`;
  }

  /** Any of the parts, literally, in the text or the tags. */
  containAny(parts: readonly string[]): this {
    const patterns = parts.map(
      (part) => `%${encodeText(part.slice(0, 200)).replaceAll(/[\\%_]/g, "\\$&")}%`,
    );
    this.#conditions.push(`(m.text || ' ' || m.tags) ILIKE ANY (${this.value(patterns)}::text[])`);
    return this;
  }

  /** Matches any of the words; words of four letters and more also as a prefix. */
  haveWords(words: readonly string[]): string {
    const asAsked = (word: string): string => (word.length < 4 ? `'${word}'` : `'${word}':*`);
    const query = `${this.value(words.map(asAsked).join(" | "))}::tsquery`;
    this.#conditions.push(`m.words @@ ${query}`);
    return query;
  }

  /** Excludes memories that this reader certainly cannot see; the caller judges the others. */
  #nearby({ formerly, runId, workspace }: MemoryPlace): void {
    const [here, run, before] = [
      this.value(encodeOrNull(workspace)),
      this.value(runNumberOf(runId) ?? -1),
      this.value(formerly.map(encodeText)),
    ];
    this.#conditions.push(
      `((m.scope = 'shared' OR p.version IS NOT NULL) AND (m.workspace IS NULL OR m.workspace = ${here}::text))
       OR m.run = ${run}::bigint OR m.sub_agent_id = ANY(${before}::text[])`,
    );
  }
}
