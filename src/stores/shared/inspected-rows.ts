import type { InboxItem } from "../../events/inbox-item.ts";
import { askIdOf, runIdOf } from "../../ports/identity.ts";
import type {
  LogSpan,
  StoredAsk,
  StoredBatch,
  StoredDelegation,
  StoredMemory,
  StoredRecord,
  StoredRun,
} from "../../ports/inspection.ts";
import { inboxItemOfRow } from "./inbox-row.ts";

/** Rows as they stand, for those who verify a store: nothing is checked on the way. */
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

/** Also what no item has: a question's deadline or default where there is no question. */
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

/** Keys of rows by the run that they belong to, from rows in the order of the keys. */
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
