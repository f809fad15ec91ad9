import type { Row } from "../postgres/database.ts";
import { decodeRow, encodeText, wordVectorOf } from "../postgres/stored-text.ts";

export type Value = string | number | null;
type Column = readonly [name: string, type: string];

/** A table that both databases have, and how a row of one becomes a row of the other. */
export interface CopiedTable {
  readonly name: string;
  /** The columns that both databases have, with their types in Postgres. */
  readonly columns: readonly Column[];
  /** Text of people and models is encoded in Postgres; all else is the same there, byte for byte. */
  readonly isEncoded: boolean;
  /** What only Postgres has: it follows from the other columns. */
  readonly derived?: {
    readonly columns: readonly Column[];
    valuesOf(row: Row): readonly Value[];
  };
}

export function postgresColumns({ columns, derived }: CopiedTable): readonly Column[] {
  return [...columns, ...(derived?.columns ?? [])];
}

export function postgresValues(table: CopiedTable, row: Row): readonly Value[] {
  const values = table.columns.map(([column]) => cellOf(row[column]));
  return [
    ...(table.isEncoded ? values.map(encode) : values),
    ...(table.derived?.valuesOf(row) ?? []),
  ];
}

export function sqliteValues({ columns, isEncoded }: CopiedTable, row: Row): readonly Value[] {
  const decoded = isEncoded ? decodeRow(row) : row;
  return columns.map(([column]) => cellOf(decoded[column]));
}

/** JSON, hashes and names that the log depends on. */
function asItIs(name: string, ...columns: readonly Column[]): CopiedTable {
  return { name, columns, isEncoded: false };
}

function encoded(name: string, ...columns: readonly Column[]): CopiedTable {
  return { name, columns, isEncoded: true };
}

const big = (...names: readonly string[]): readonly Column[] =>
  names.map((name) => [name, "bigint"]);
const text = (...names: readonly string[]): readonly Column[] =>
  names.map((name) => [name, "text"]);
const small = (...names: readonly string[]): readonly Column[] =>
  names.map((name) => [name, "integer"]);

export const copiedTables: readonly CopiedTable[] = [
  asItIs(
    "event_batches",
    ...big("first_seq", "run", "first_run_seq"),
    ...small("count"),
    ...text("hash", "events"),
  ),
  encoded(
    "runs",
    ...big("number", "started_at", "finished_at", "tokens"),
    ...text("task", "application", "workspace", "worker", "outcome"),
    ...text("profile", "model", "started_by"),
    ...small("fence", "delegations"),
    ["cost", "double precision"],
  ),
  asItIs(
    "sub_agents",
    ...big("number", "run"),
    ...text("id", "status", "close_reason", "contract_hash", "context_json"),
  ),
  asItIs("asks", ...big("number", "run"), ...text("sub_agent_id"), ...small("answered")),
  encoded("texts", ...text("hash", "body")),
  asItIs(
    "records",
    ...text("resource_type", "resource_id", "value", "updated_by"),
    ...big("version", "updated_at"),
  ),
  asItIs("record_versions", ...text("resource_type", "resource_id"), ...big("version")),
  encoded(
    "inbox",
    ...big("seq", "run", "at", "deadline_at"),
    ...text("sub_agent_id", "kind", "severity", "title", "text", "ask_id", "ask_default"),
    ...small("is_open"),
  ),
  encoded("inbox_cursors", ...text("reader"), ...big("seq")),
  {
    ...encoded(
      "memories",
      ...big("number", "run", "created_at"),
      ...text("id", "sub_agent_id", "call_id", "lineage", "profile", "workspace", "scope"),
      ...text("key", "slot", "tags", "text", "supersedes"),
    ),
    derived: {
      columns: [
        ["tag_list", "text"],
        ["words", "tsvector"],
      ],
      valuesOf(row) {
        const tags = (JSON.parse(String(row["tags"])) as unknown[]).map(String);
        const list = `{${tags.map((tag) => quoted(encodeText(tag))).join(",")}}`;
        return [list, wordVectorOf(String(row["text"]), tags)];
      },
    },
  },
  encoded(
    "request_keys",
    ...text("principal", "key", "fingerprint", "worker", "reply"),
    ...big("begun_at"),
    ...small("status"),
  ),
  // What is used of the limits, which are records: a quota of today is not given a second time.
  encoded(
    "limit_holds",
    ...big("sub_agent", "day", "second", "tokens", "cost"),
    ...small("request"),
    ...text("provider", "queue"),
  ),
  encoded("limit_seconds", ...big("second", "requests", "tokens"), ...text("provider", "queue")),
  asItIs("limit_days", ...big("day", "cost")),
];

/** Quotes one element of a Postgres array literal. */
function quoted(element: string): string {
  return `"${element.replaceAll(/["\\]/g, "\\$&")}"`;
}

function cellOf(value: unknown): Value {
  if (value === null || value === undefined) return null;
  return typeof value === "number" ? value : String(value);
}

function encode(value: Value): Value {
  return typeof value === "string" ? encodeText(value) : value;
}
