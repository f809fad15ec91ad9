import type {
  ClientCapabilities,
  InputRequest,
  Result,
  ServerContext,
} from "@modelcontextprotocol/server";
import type { Principal } from "../../../control/records/principal.ts";

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

/**
 * Tasks that outlive the process: the id of one leads to what the call delegated, and how that
 * stands is read from the log. Somebody else's is undefined, exactly like one that never was.
 */
export interface DurableTasks {
  idOf(tool: string, delegationId: string): string;
  read(owner: Principal, taskId: string): Promise<Task | undefined>;
  /** What agents wait to have answered by a person: the delegation's own, and those below it. */
  questions(owner: Principal, taskId: string): Promise<InputRequests>;
  /** Without effect for what is no open question of that task. */
  answer(owner: Principal, taskId: string, key: string, response: unknown): Promise<void>;
  cancel(owner: Principal, taskId: string): Promise<void>;
}

/** What a tool can do with the task that its call has become, or becomes by this. */
export interface TaskCall {
  /** Waits for the client's answer, which is not to be trusted. Rejects when the task ends. */
  requestInput(request: InputRequest): Promise<unknown>;
  /** The task can be found again by this delegation, also after a restart. */
  onDelegation(delegationId: string): void;
}

const key = Symbol("mandate.task");

type ContextOfTask = ServerContext & { readonly [key]?: TaskCall };

export function withTask(context: ServerContext, call: TaskCall): ServerContext {
  const marked: ContextOfTask = { ...context, [key]: call };
  return marked;
}

/** Undefined where the client did not say that it knows tasks: the call is answered when done. */
export function taskOf(context: ServerContext): TaskCall | undefined {
  return (context as ContextOfTask)[key];
}

const capabilityFor: Readonly<Record<InputRequest["method"], keyof ClientCapabilities>> = {
  "elicitation/create": "elicitation",
  "sampling/createMessage": "sampling",
  "roots/list": "roots",
};

/** The task without questions that its client cannot put to anybody. Those wait in the inbox. */
export function visibleTo(task: Task, capabilities: ClientCapabilities): Task {
  const { state } = task;
  if (state.status !== "input_required") return task;
  const asked = Object.entries(state.inputRequests).filter(
    ([, { method }]) => capabilities[capabilityFor[method]] !== undefined,
  );
  if (asked.length > 0) {
    return { ...task, state: { ...state, inputRequests: Object.fromEntries(asked) } };
  }
  const statusMessage = "A question waits for an answer in the inbox.";
  return { ...task, statusMessage, state: { status: "working" } };
}
