import { visibleJson } from "./visible-text.ts";

/** What a server or a worker reports to its operator. Programs decide by codes, not by messages. */
export type LogCode =
  | "worker_started"
  | "worker_stopping"
  | "worker_drained"
  | "worker_undrained"
  | "delegation_claimed"
  | "delegation_taken_over"
  | "delegation_not_worked_on"
  | "delegation_requeued"
  | "lease_lost"
  | "worker_rejoined"
  | "database_waiting"
  | "database_lost"
  | "database_back"
  | "queue_engine_fault"
  | "queue_paused"
  | "queue_resumed"
  | "run_recovered"
  | "run_not_recovered"
  | "runs_pruned"
  | "prune_failed"
  | "server_started"
  | "server_stopping"
  | "server_fault";

export interface LogEntry {
  readonly level: "info" | "warn" | "error";
  readonly code: LogCode;
  /** One sentence or more, which may quote untrusted text. */
  readonly message: string;
  readonly worker?: string | undefined;
  readonly run?: string | undefined;
  readonly delegation?: string | undefined;
  readonly queue?: string | undefined;
  /** The SQLSTATE or the system's code of an error. */
  readonly error?: string | undefined;
}

export type Log = (entry: LogEntry) => void;

export const logFormats = ["json", "text"] as const;
export type LogFormat = (typeof logFormats)[number];

/**
 * One entry as one line: JSON for programs, or text for people. No text of a model or a client can
 * begin a line of its own.
 *
 * @example formatLog({ level: "info", code: "worker_started", message: "Started." }, "text", Date.now())
 */
export function formatLog(entry: LogEntry, format: LogFormat, now: number): string {
  const time = new Date(now).toISOString();
  const { code, level, message, ...about } = entry;
  if (format === "json") return `${visibleJson({ time, level, ...about, code, message })}\n`;
  const facts = Object.entries(about).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${value}`],
  );
  const text = message.replaceAll("\n", "\n  ");
  return `${[time, level.padEnd(5), text, ...facts, `(${code})`].join(" ")}\n`;
}
