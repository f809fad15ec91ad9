import type { InboxItem } from "../../events/inbox-item.ts";
import type { PreparedChange, RecordStanding } from "../../events/record-change.ts";
import type { RootFacts } from "../../events/root-facts.ts";
import type { RunState } from "../../events/run-state.ts";
import { askIdOf, askNumberOf, numberOf, runIdOf, runNumberOf } from "../../ports/identity.ts";
import type {
  LogSpan,
  StoredAsk,
  StoredBatch,
  StoredDelegation,
  StoredMemory,
  StoredRecord,
  StoredRun,
} from "../../ports/inspection.ts";
import { MandateError } from "../../ports/mandate-error.ts";
import { parseJson } from "../../ports/parse-json.ts";
import type { ControlRecord } from "../../ports/record-store.ts";
import type { KeyStanding, RunQuery, RunRow } from "../../ports/store.ts";

/** Rows as they are stored, for the checker: nothing is validated. */
export type Row = Readonly<Record<string, unknown>>;

export function spanOf(row: Row): LogSpan {
  return {
    runId: runIdOf(Number(row["run"])),
    firstSeq: Number(row["first_seq"]),
    count: Number(row["count"]),
  };
}

export function batchOf(row: Row): StoredBatch {
  return {
    ...spanOf(row),
    firstRunSeq: Number(row["first_run_seq"]),
    hash: String(row["hash"]),
    text: String(row["events"]),
  };
}

export function storedRunOf(row: Row): StoredRun {
  return {
    task: String(row["task"]),
    application: String(row["application"]),
    workspace: textOrNull(row["workspace"]),
    startedAt: Number(row["started_at"]),
    finishedAt: row["finished_at"] === null ? null : Number(row["finished_at"]),
    outcome: textOrNull(row["outcome"]),
    worker: String(row["worker"]),
    fence: Number(row["fence"]),
    delegations: Number(row["delegations"]),
    tokens: Number(row["tokens"]),
    cost: Number(row["cost"]),
    ...rootFactsInRow(row),
  };
}

export function storedDelegationOf(row: Row): StoredDelegation {
  return {
    number: Number(row["number"]),
    id: String(row["id"]),
    status: String(row["status"]),
    closeReason: textOrNull(row["close_reason"]),
    contractHash: String(row["contract_hash"]),
    contextJson: String(row["context_json"]),
  };
}

export function storedAskOf(row: Row): StoredAsk {
  return {
    id: askIdOf(Number(row["number"])),
    delegationId: String(row["sub_agent_id"]),
    answered: row["answered"] === 1 ? true : row["answered"] === 0 ? false : null,
  };
}

export function storedMemoryOf(row: Row): StoredMemory {
  return {
    number: Number(row["number"]),
    id: String(row["id"]),
    delegationId: String(row["sub_agent_id"]),
    callId: String(row["call_id"]),
    lineage: String(row["lineage"]),
    profile: String(row["profile"]),
    workspace: textOrNull(row["workspace"]),
    scope: String(row["scope"]),
    key: textOrNull(row["key"]),
    slot: textOrNull(row["slot"]),
    tags: String(row["tags"]),
    text: String(row["text"]),
    supersedes: textOrNull(row["supersedes"]),
    createdAt: Number(row["created_at"]),
  };
}

/** Reads an item as it is stored, also values that no valid item has: a default without a question. */
export function storedItemOf(row: Row): InboxItem {
  const item = inboxItemOfRow(row);
  const [deadline, fallback] = [row["deadline_at"], row["ask_default"]];
  if (item.ask !== undefined || (deadline === null && fallback === null)) return item;
  return { ...item, ask: { id: "", deadlineAt: Number(deadline), default: textOrNull(fallback) } };
}

export function storedRecordOf(row: Row): StoredRecord {
  return {
    resourceType: String(row["resource_type"]),
    resourceId: String(row["resource_id"]),
    lastVersion: row["last_version"] === null ? null : Number(row["last_version"]),
    now:
      row["version"] === null
        ? null
        : {
            version: Number(row["version"]),
            text: String(row["value"]),
            updatedBy: String(row["updated_by"]),
            updatedAt: Number(row["updated_at"]),
          },
  };
}

/** Row keys by run, from rows in key order. */
export function keysByRun(rows: Iterable<Row>): ReadonlyMap<number, number[]> {
  const keys = new Map<number, number[]>();
  for (const row of rows) {
    const run = Number(row["run"]);
    const others = keys.get(run);
    if (others) others.push(Number(row["key"]));
    else keys.set(run, [Number(row["key"])]);
  }
  return keys;
}

function textOrNull(value: unknown): string | null {
  return value === null ? null : String(value);
}

/** The values of a row, in the order of the columns. */
export function inboxValuesOf(item: InboxItem): readonly (string | number | null)[] {
  return [
    item.id,
    runNumberOf(item.runId) ?? 0,
    item.delegationId ?? null,
    item.at,
    item.kind,
    item.severity,
    item.title,
    item.text,
    item.ask?.id ?? null,
    item.ask?.deadlineAt ?? null,
    item.ask?.default ?? null,
    item.isOpen === undefined ? null : Number(item.isOpen),
  ];
}

export function inboxItemOfRow(row: Readonly<Record<string, unknown>>): InboxItem {
  const delegationId = row["sub_agent_id"];
  const askId = row["ask_id"];
  const fallback = row["ask_default"];
  return {
    id: Number(row["seq"]),
    at: Number(row["at"]),
    runId: runIdOf(Number(row["run"])),
    ...(delegationId !== null && { delegationId: String(delegationId) }),
    kind: String(row["kind"]) as InboxItem["kind"],
    severity: String(row["severity"]) as InboxItem["severity"],
    title: String(row["title"]),
    text: String(row["text"]),
    ...(row["is_open"] !== null && { isOpen: row["is_open"] === 1 }),
    ...(askId !== null && {
      ask: {
        id: String(askId),
        deadlineAt: Number(row["deadline_at"]),
        default: fallback === null ? null : String(fallback),
      },
    }),
  };
}

/** The row that tells the run of an id: of a run, a delegation or a question. */
export function runPlaceOf(id: string): { table: string; column: string; number: number } {
  const ask = askNumberOf(id);
  if (ask !== undefined) return { table: "asks", column: "run", number: ask };
  const delegation = numberOf(id);
  if (delegation !== undefined) return { table: "sub_agents", column: "run", number: delegation };
  return { table: "runs", column: "number", number: runNumberOf(id) ?? -1 };
}

/** The conditions of a query for runs, in SQL; `parameter` writes a parameter and its value. */
export function runConditions(
  query: RunQuery,
  parameter: (text: string, index: number) => readonly [sql: string, value: string] = (text) => [
    "?",
    text,
  ],
): { readonly conditions: string[]; readonly values: (string | number)[] } {
  const { application, model, outcome, profile, startedBy, workspace } = query;
  const wanted = { application, model, outcome, profile, started_by: startedBy, workspace };
  const conditions = query.open ? ["outcome IS NULL"] : [];
  const values: (string | number)[] = [];
  for (const [column, text] of Object.entries(wanted)) {
    if (text === undefined) continue;
    const [sql, value] = parameter(text, values.length + 1);
    conditions.push(`${column} = ${sql}`);
    values.push(value);
  }
  return { conditions, values };
}

export function runRowOf(row: Readonly<Record<string, unknown>>): RunRow {
  return {
    id: runIdOf(Number(row["number"])),
    task: String(row["task"]),
    application: String(row["application"]),
    workspace: row["workspace"] === null ? null : String(row["workspace"]),
    outcome: row["outcome"] as RunRow["outcome"],
    worker: String(row["worker"]),
    startedAt: Number(row["started_at"]),
    finishedAt: row["finished_at"] === null ? null : Number(row["finished_at"]),
    delegations: Number(row["delegations"]),
    tokens: Number(row["tokens"]),
    cost: Number(row["cost"]),
    ...rootFactsInRow(row),
  };
}

function rootFactsInRow(row: Row): RootFacts {
  return {
    profile: textOrNull(row["profile"]),
    model: textOrNull(row["model"]),
    startedBy: textOrNull(row["started_by"]),
  };
}

/** What all delegations of a run have used together. */
export function runTotals({ delegations }: RunState): { tokens: number; cost: number } {
  let tokens = 0;
  let cost = 0;
  for (const { usage } of delegations.values()) {
    tokens += usage.prompt + usage.completion;
    cost += usage.cost;
  }
  return { tokens, cost };
}

export type RecordKey = Pick<ControlRecord, "resourceType" | "resourceId">;

/** The state of records at the time they are changed. */
export interface RecordStandings {
  standingOf(key: RecordKey): RecordStanding;
}

/** A record change as its event describes it. */
export interface WrittenRecord extends PreparedChange {
  readonly version: number;
  readonly actor: string;
  readonly at: number;
}

/** The state of a record, from its row and its row in `record_versions`. */
export function standingOfRows(
  row: Readonly<Record<string, unknown>> | undefined,
  last: Readonly<Record<string, unknown>> | undefined,
): RecordStanding {
  const version = Number(row?.["version"] ?? 0);
  return {
    version,
    lastVersion: Math.max(version, Number(last?.["version"] ?? 0)),
    text: row === undefined ? null : String(row["value"]),
  };
}

export function recordOf(row: Readonly<Record<string, unknown>>): ControlRecord {
  const resourceType = String(row["resource_type"]);
  const resourceId = String(row["resource_id"]);
  return {
    resourceType,
    resourceId,
    version: Number(row["version"]),
    value: parseValue(`${resourceType}/${resourceId}`, String(row["value"])),
    updatedBy: String(row["updated_by"]),
    updatedAt: Number(row["updated_at"]),
  };
}

function parseValue(name: string, text: string): unknown {
  try {
    return parseJson(text);
  } catch (cause) {
    throw new MandateError(
      "database-unusable",
      `The stored value of record ${name} is not JSON: the database was modified. Delete the record, or restore the database from a backup.`,
      { cause },
    );
  }
}

/** The state of a keyed request, from the row of its key. */
export function keyStandingOf(
  row: Readonly<Record<string, unknown>>,
  fingerprint: string,
  isWorkerAlive: (worker: string) => boolean,
): KeyStanding {
  if (row["fingerprint"] !== fingerprint) return { is: "taken" };
  if (row["status"] !== null) {
    return { is: "finished", reply: { status: Number(row["status"]), body: String(row["reply"]) } };
  }
  return { is: isWorkerAlive(String(row["worker"])) ? "running" : "unknown" };
}
