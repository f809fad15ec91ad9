import { runIdOf } from "../../ports/identity.ts";
import type { RunRow } from "../../ports/store.ts";

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
  };
}
