import { ownerOf } from "../../events/check-owner.ts";
import { memorySlot } from "../../events/memory-hash.ts";
import type { RunState } from "../../events/run-state.ts";
import {
  memoryIdOf,
  memoryNumberOf,
  numberOf,
  runIdOf,
  runNumberOf,
} from "../../ports/identity.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import {
  type Memory,
  type MemoryMark,
  type MemoryPlace,
  type MemoryQuery,
  type MemoryStore,
  memoryMarks,
  type NewMemory,
  type SaveOutcome,
} from "../../ports/memory-store.ts";
import { rowsOf, type Sql, type SqlDialect, type SqlValue, type Steps, sql } from "./sql.ts";
import type { Row } from "./stored-rows.ts";

/** What a memory store needs of a database. */
export interface MemoryDatabase {
  readonly dialect: SqlDialect;
  query(statement: Sql): Promise<readonly Row[]>;
  /** One transaction, after everything that was appended before is written. May be retried. */
  transact<Result>(steps: () => Steps<Result>): Promise<Result>;
  now(): number;
  /** Whether a worker id belongs to this process. */
  isOurs(worker: unknown): boolean;
  readonly claimerOf: (memory: NewMemory) => string | undefined;
  /** Columns of this database alone, after the common ones: their places, and their values. */
  readonly ownPlaces: readonly string[];
  ownValues(memory: NewMemory): readonly SqlValue[];
  hasTags(tags: readonly string[]): readonly Sql[];
  /** The condition that one of the LIKE patterns matches the text or the tags. */
  matchesAny(patterns: readonly string[]): Sql;
  /** The full text search; undefined: not available for these words. `tables` names memories `m`. */
  search(words: readonly string[], tables: string): MemorySearch | undefined;
  /** `JOIN`, or what makes the database keep the order of a join. */
  readonly join: string;
}

interface MemorySearch {
  readonly from: string;
  readonly condition: Sql;
  readonly order: Sql;
}

/** Memories as rows. */
export class MemoryTables implements MemoryStore {
  readonly #database: MemoryDatabase;
  readonly #schema: string;
  /** A memory `m` with a person's decisions about it: `p` promoted, `f` forgotten. */
  readonly #tables: string;
  readonly #isSuperseded: string;
  readonly #columns: string;

  constructor(database: MemoryDatabase) {
    const { schema } = database.dialect;
    const marked = (name: string, type: string) =>
      `LEFT JOIN ${schema}records ${name}
       ON ${name}.resource_type = '${type}' AND ${name}.resource_id = m.id`;
    this.#database = database;
    this.#schema = schema;
    this.#tables = `${schema}memories m ${marked("p", memoryMarks.promoted)} ${marked("f", memoryMarks.forgotten)}`;
    // A later memory in the same slot replaces this one, unless the later one was forgotten. A
    // memory that a person promoted is never replaced by an agent.
    this.#isSuperseded = `p.version IS NULL AND m.slot IS NOT NULL AND EXISTS (
      SELECT 1 FROM ${schema}memories n WHERE n.slot = m.slot AND n.number > m.number AND NOT EXISTS (
        SELECT 1 FROM ${schema}records
        WHERE resource_type = '${memoryMarks.forgotten}' AND resource_id = n.id))`;
    this.#columns = `m.*, ${this.#isSuperseded} AS is_superseded, p.updated_by AS promoted_by,
      p.updated_at AS promoted_at, f.updated_by AS forgotten_by, f.updated_at AS forgotten_at`;
  }

  save(memory: NewMemory, mostOfRun: number): Promise<SaveOutcome> {
    return this.#database.transact(() => this.#save(memory, mostOfRun));
  }

  async read(id: string): Promise<Memory | undefined> {
    const [row] = await this.#database.query(this.#byNumber(memoryNumberOf(id) ?? -1));
    return row && this.#memoryOf(row);
  }

  async find(query: MemoryQuery): Promise<readonly Memory[]> {
    const words = wordsOf(query.text ?? "");
    if (words.length === 0) {
      // A query of punctuation alone is searched literally.
      const text = query.text?.trim() ?? "";
      return this.#scan(query, text === "" ? [] : [text]);
    }
    const ranked = await this.#search(query, words);
    if (ranked.length > 0) return ranked;
    // An empty page after the last result must not start the slower search.
    const isAtEnd = (query.offset ?? 0) > 0;
    const first = { ...query, limit: 1, offset: 0 };
    if (isAtEnd && (await this.#search(first, words)).length > 0) return ranked;
    // A scan also finds words in scripts that put no space between words.
    return this.#scan(query, words);
  }

  *#save(memory: NewMemory, mostOfRun: number): Steps<SaveOutcome> {
    const { callId, delegationId, runId } = memory;
    const { claimerOf, dialect, isOurs } = this.#database;
    const ofCall = `SELECT number FROM ${this.#schema}memories WHERE sub_agent_id = ? AND call_id = ?`;
    const [known] = yield* rowsOf(
      sql(ofCall, dialect.encode(delegationId), dialect.encode(callId)),
    );
    if (known !== undefined) {
      return { saved: true, memory: yield* this.#read(Number(known["number"])), isNew: false };
    }
    const [standing] = yield* rowsOf(
      sql(
        `SELECT r.worker, s.status,
           (SELECT count(*) FROM ${this.#schema}memories WHERE run = r.number) AS count,
           (SELECT coalesce(max(number), 0) FROM ${this.#schema}memories) AS last
         FROM ${this.#schema}runs r JOIN ${this.#schema}sub_agents s ON s.run = r.number
         WHERE r.number = ? AND s.number = ?`,
        ...[runNumberOf(runId) ?? -1, numberOf(delegationId) ?? -1],
      ),
    );
    requireMaySave(memory, standing, isOurs, claimerOf(memory));
    if (Number(standing?.["count"]) >= mostOfRun) return { saved: false };
    const number = Number(standing?.["last"]) + 1;
    yield [this.#insert(memory, number, yield* this.#replacedBy(memory))];
    return { saved: true, memory: yield* this.#read(number), isNew: true };
  }

  *#replacedBy(memory: NewMemory): Steps<string | null> {
    const slot = memorySlot(memory);
    if (slot === null) return null;
    const condition = "m.slot = ? AND f.version IS NULL AND p.version IS NULL";
    const text = `SELECT m.id FROM ${this.#tables} WHERE ${condition} ORDER BY m.number DESC LIMIT 1`;
    const [row] = yield* rowsOf(sql(text, this.#database.dialect.encode(slot)));
    return row === undefined ? null : String(row["id"]);
  }

  #insert(memory: NewMemory, number: number, supersedes: string | null): Sql {
    const { dialect, now, ownPlaces, ownValues } = this.#database;
    const position = { number, slot: memorySlot(memory), supersedes, createdAt: now() };
    const values = memoryValuesOf(memory, position).map((value) =>
      typeof value === "string" ? dialect.encode(value) : value,
    );
    const places = [...values.map(() => "?"), ...ownPlaces].join(", ");
    const text = `INSERT INTO ${this.#schema}memories VALUES (${places})`;
    return sql(text, ...values, ...ownValues(memory));
  }

  *#read(number: number): Steps<Memory> {
    const [row] = yield* rowsOf(this.#byNumber(number));
    if (row === undefined) throw new Error("the saved memory cannot be read back");
    return this.#memoryOf(row);
  }

  #byNumber(number: number): Sql {
    return sql(`SELECT ${this.#columns} FROM ${this.#tables} WHERE m.number = ?`, number);
  }

  async #search(query: MemoryQuery, words: readonly string[]): Promise<readonly Memory[]> {
    const search = this.#database.search(words, this.#tables);
    return search === undefined ? [] : this.#select(query, search);
  }

  /** Searches the texts themselves, newest first. */
  #scan(query: MemoryQuery, parts: readonly string[]): Promise<readonly Memory[]> {
    const patterns = parts.map(
      (part) =>
        `%${this.#database.dialect.encode(part.slice(0, 200)).replaceAll(/[\\%_]/g, "\\$&")}%`,
    );
    const condition = parts.length === 0 ? sql("true") : this.#database.matchesAny(patterns);
    return this.#select(query, { from: this.#tables, condition, order: sql("0") });
  }

  async #select(
    query: MemoryQuery,
    { condition, from, order }: MemorySearch,
  ): Promise<readonly Memory[]> {
    const { limit, offset = 0 } = query;
    const where = [...this.#conditionsOf(query), condition];
    const conditions = where.map(({ text }) => `(${text})`).join(" AND ");
    // Texts are read last, and only those of the result.
    const text = `SELECT ${this.#columns} FROM (
        SELECT m.number AS found, ${order.text} AS place FROM ${from} WHERE ${conditions}
        ORDER BY place, m.number DESC LIMIT ? OFFSET ?) AS best
      ${this.#database.join} ${onNumber(this.#tables, "best.found")}
      ORDER BY best.place, m.number DESC`;
    const values = [...order.values, ...where.flatMap((one) => one.values), limit, offset];
    return (await this.#database.query({ text, values })).map((row) => this.#memoryOf(row));
  }

  /** All conditions of a query except its words. */
  #conditionsOf({ all, near, tags = [] }: MemoryQuery): readonly Sql[] {
    return [
      ...(near === undefined ? [] : [this.#couldConcern(near)]),
      ...(all === true ? [] : [sql(`f.version IS NULL AND NOT (${this.#isSuperseded})`)]),
      ...(tags.length === 0 ? [] : this.#database.hasTags(tags)),
    ];
  }

  /** Excludes memories that this reader certainly cannot see; the caller judges the others. */
  #couldConcern({ formerly, runId, workspace }: MemoryPlace): Sql {
    const { dialect } = this.#database;
    return sql(
      `((m.scope = 'shared' OR p.version IS NOT NULL) AND (m.workspace IS NULL OR m.workspace = ?))
       OR m.run = ? OR ${dialect.isIn("m.sub_agent_id")}`,
      workspace === null ? null : dialect.encode(workspace),
      runNumberOf(runId) ?? -1,
      formerly.map((id) => dialect.encode(id)),
    );
  }

  #memoryOf(row: Row): Memory {
    return memoryOf(this.#database.dialect.decode(row));
  }
}

/** The tables of memories, joined to a number. */
export function onNumber(tables: string, number: string): string {
  return tables.replace("memories m", `memories m ON m.number = ${number}`);
}

/** The worker that owns a delegation of a distributed run, from the state in memory. */
export function claimerOf(run: RunState | undefined, id: string): string | undefined {
  return run?.spread ? ownerOf(run, id).worker : undefined;
}

/**
 * Throws unless this worker may save a memory for the delegation, according to the stored state.
 */
function requireMaySave(
  { delegationId, runId }: NewMemory,
  standing: Readonly<Record<string, unknown>> | undefined,
  isOurs: (worker: unknown) => boolean,
  claimer: string | undefined,
): void {
  if (standing === undefined) {
    throw new MandateError("unknown-delegation", `Run ${runId} has no delegation ${delegationId}.`);
  }
  if (!isOurs(claimer ?? standing["worker"])) {
    throw new MandateError("fenced", `Run ${runId} is now owned by another process.`);
  }
  if (standing["status"] === "closed") {
    throw new MandateError("illegal-transition", `Delegation ${delegationId} is closed.`);
  }
}

interface MemoryPosition {
  readonly number: number;
  readonly slot: string | null;
  readonly supersedes: string | null;
  readonly createdAt: number;
}

/** In the order of the columns. */
function memoryValuesOf(
  memory: NewMemory,
  { createdAt, number, slot, supersedes }: MemoryPosition,
): readonly (string | number | null)[] {
  const { callId, delegationId, key, lineage, profile, scope, tags, text, workspace } = memory;
  return [
    ...[number, memoryIdOf(number), runNumberOf(memory.runId) ?? -1, delegationId, callId],
    ...[JSON.stringify(lineage), profile, workspace, scope, key, slot],
    ...[JSON.stringify(tags), text, supersedes, createdAt],
  ];
}

function memoryOf(row: Readonly<Record<string, unknown>>): Memory {
  return {
    id: String(row["id"]),
    text: String(row["text"]),
    tags: listOf(row["tags"]),
    key: textOrNull(row["key"]),
    // An unknown scope is treated as not shared.
    scope: row["scope"] === "shared" ? "shared" : "delegated",
    workspace: textOrNull(row["workspace"]),
    runId: runIdOf(Number(row["run"])),
    delegationId: String(row["sub_agent_id"]),
    callId: String(row["call_id"]),
    lineage: listOf(row["lineage"]),
    profile: String(row["profile"]),
    createdAt: Number(row["created_at"]),
    supersedes: textOrNull(row["supersedes"]),
    isSuperseded: Boolean(row["is_superseded"]),
    promoted: markOf(row["promoted_by"], row["promoted_at"]),
    forgotten: markOf(row["forgotten_by"], row["forgotten_at"]),
  };
}

function markOf(by: unknown, at: unknown): MemoryMark | null {
  return by === null ? null : { by: String(by), at: Number(at) };
}

function listOf(json: unknown): readonly string[] {
  const list: unknown = JSON.parse(String(json));
  return Array.isArray(list) ? list.map(String) : [];
}

function textOrNull(value: unknown): string | null {
  return value === null ? null : String(value);
}

/** Queries come from models: only this much of one is used. */
const mostWords = 16;
const longestWord = 64;

/** The distinct words of a query, in lower case and without punctuation. */
function wordsOf(query: string): readonly string[] {
  const words = query
    .slice(0, 10_000)
    .normalize("NFKC")
    .toLowerCase()
    .match(/[\p{L}\p{N}]+/gu);
  return [...new Set(words ?? [])].slice(0, mostWords).map((word) => word.slice(0, longestWord));
}

/** All words of a text in order, in lower case and without accents. */
export function foldWords(text: string): readonly string[] {
  const words = text
    .normalize("NFKD")
    .replaceAll(/\p{M}/gu, "")
    .toLowerCase()
    .match(/[\p{L}\p{N}]+/gu);
  return (words ?? []).map((word) => word.slice(0, longestWord));
}
