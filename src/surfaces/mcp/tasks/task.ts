import type { InputRequest, Result } from "@modelcontextprotocol/server";

/** The name under which clients and servers say that they know tasks. */
export const tasksExtension = "io.modelcontextprotocol/tasks";

export type InputRequests = Readonly<Record<string, InputRequest>>;

/** Where a task stands; what is not true in a status has no field there. */
export type TaskState =
  | { readonly status: "working" }
  | { readonly status: "input_required"; readonly inputRequests: InputRequests }
  | { readonly status: "completed"; readonly result: Result }
  | { readonly status: "failed"; readonly error: TaskError }
  | { readonly status: "cancelled" };

/** What went wrong with the request itself; a tool that reports an error has completed. */
export interface TaskError {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

/** A call that goes on after its request has been answered. */
export interface Task {
  readonly taskId: string;
  readonly createdAt: number;
  readonly lastUpdatedAt: number;
  /** How long it can be asked for, from its beginning; null: as long as the log is kept. */
  readonly ttlMs: number | null;
  readonly pollIntervalMs: number;
  readonly statusMessage?: string | undefined;
  readonly state: TaskState;
}

export function isTerminal({ status }: TaskState): boolean {
  return status === "completed" || status === "failed" || status === "cancelled";
}

/** What answers the call that became a task; how it goes is told by `tasks/get` alone. */
export function describeCreated(task: Task): Result {
  return { resultType: "task", ...describeHead(task) };
}

/** What `tasks/get` and `notifications/tasks` tell. */
export function describeTask(task: Task): Result {
  const { status: _, ...details } = task.state;
  return { ...describeHead(task), ...details };
}

function describeHead(task: Task): Result {
  return {
    taskId: task.taskId,
    status: task.state.status,
    ...(task.statusMessage !== undefined && { statusMessage: task.statusMessage }),
    createdAt: new Date(task.createdAt).toISOString(),
    lastUpdatedAt: new Date(task.lastUpdatedAt).toISOString(),
    ttlMs: task.ttlMs,
    pollIntervalMs: task.pollIntervalMs,
  };
}
