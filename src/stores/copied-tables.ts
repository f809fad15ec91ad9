import type { Row } from "./postgres/database.ts";
import { wordVectorOf } from "./postgres/memory-words.ts";
import { encodeText } from "./postgres/stored-text.ts";

type Value = string | number | null;
type Column = readonly [name: string, type: string];

/** A table that both databases have, and how a row of one becomes a row of the other. */
export interface CopiedTable {
  readonly name: string;
  readonly columns: readonly Column[];
  valuesOf(row: Row): readonly Value[];
}

/** JSON, hashes and names that the log depends on: to the letter. */
function asItIs(name: string, ...columns: readonly Column[]): CopiedTable {
  return { name, columns, valuesOf: (row) => columns.map(([column]) => cellOf(row[column])) };
}

/** What people and models wrote, as Postgres can keep it. */
function encoded(name: string, ...columns: readonly Column[]): CopiedTable {
  const { valuesOf } = asItIs(name, ...columns);
  return { name, columns, valuesOf: (row) => valuesOf(row).map(encode) };
}

const big = (...names: readonly string[]): readonly Column[] =>
  names.map((name) => [name, "bigint"]);
const text = (...names: readonly string[]): readonly Column[] =>
  names.map((name) => [name, "text"]);
const small = (...names: readonly string[]): readonly Column[] =>
  names.map((name) => [name, "integer"]);

const memories = encoded(
  "memories",
  ...big("number", "run", "created_at"),
  ...text("id", "sub_agent_id", "call_id", "lineage", "profile", "workspace", "scope"),
  ...text("key", "slot", "tags", "text", "supersedes"),
);

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
    ...memories,
    columns: [...memories.columns, ["tag_list", "text"], ["words", "tsvector"]],
    valuesOf(row) {
      const tags = (JSON.parse(String(row["tags"])) as unknown[]).map(String);
      const list = `{${tags.map((tag) => quoted(encodeText(tag))).join(",")}}`;
      return [...memories.valuesOf(row), list, wordVectorOf(String(row["text"]), tags)];
    },
  },
  encoded(
    "request_keys",
    ...text("principal", "key", "fingerprint", "worker", "reply"),
    ...big("begun_at"),
    ...small("status"),
  ),
];

/** As an element of a list that is written as a text. */
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
