import type {
  ClientCapabilities,
  InputRequest,
  Result,
  ServerContext,
} from "@modelcontextprotocol/server";
import type { Principal } from "../../../control/records/principal.ts";

/** The name of the extension in capabilities. */
export const tasksExtension = "io.modelcontextprotocol/tasks";

export type InputRequests = Readonly<Record<string, InputRequest>>;

/** The state of a task, with the fields of each status. */
export type TaskState =
  | { readonly status: "working" }
  | { readonly status: "input_required"; readonly inputRequests: InputRequests }
  | { readonly status: "completed"; readonly result: Result }
  | { readonly status: "failed"; readonly error: TaskError }
  | { readonly status: "cancelled" };

/** A protocol error of the call. A tool that reports an error has completed. */
export interface TaskError {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

/** A call that continues after its request was answered. */
export interface Task {
  readonly taskId: string;
  readonly createdAt: number;
  readonly lastUpdatedAt: number;
  /** How long it can be read, from its creation; null: as long as the log is kept. */
  readonly ttlMs: number | null;
  readonly pollIntervalMs: number;
  readonly statusMessage?: string | undefined;
  readonly state: TaskState;
}

export function isTerminal({ status }: TaskState): boolean {
  return status === "completed" || status === "failed" || status === "cancelled";
}

/** The response to a call that became a task; `tasks/get` gives its state. */
export function describeCreated(task: Task): Result {
  return { resultType: "task", ...describeHead(task) };
}

/** The content of `tasks/get` and `notifications/tasks`. */
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
 * Tasks that outlive the process: the id names a delegation, whose state is read from the log.
 * Tasks of other principals are undefined, like unknown ones.
 */
export interface DurableTasks {
  idOf(tool: string, delegationId: string): string;
  read(owner: Principal, taskId: string): Promise<Task | undefined>;
  /** The open questions of the delegation and of those below it. */
  questions(owner: Principal, taskId: string): Promise<InputRequests>;
  /** Ignores everything but an open question of that task. */
  answer(owner: Principal, taskId: string, key: string, response: unknown): Promise<void>;
  cancel(owner: Principal, taskId: string): Promise<void>;
}

/** What a tool can do with the task of its call. */
export interface TaskCall {
  /** Asks the client and waits for its reply, which is untrusted. Rejects when the task ends. */
  requestInput(request: InputRequest): Promise<unknown>;
  /** Names the delegation by which the task can be found, also after a restart. */
  onDelegation(delegationId: string): void;
}

const key = Symbol("mandate.task");

type ContextOfTask = ServerContext & { readonly [key]?: TaskCall };

export function withTask(context: ServerContext, call: TaskCall): ServerContext {
  const marked: ContextOfTask = { ...context, [key]: call };
  return marked;
}

/** Undefined: the client does not support tasks. */
export function taskOf(context: ServerContext): TaskCall | undefined {
  return (context as ContextOfTask)[key];
}

const capabilityFor: Readonly<Record<InputRequest["method"], keyof ClientCapabilities>> = {
  "elicitation/create": "elicitation",
  "sampling/createMessage": "sampling",
  "roots/list": "roots",
};

/** The task without the questions that its client cannot show. Those wait in the inbox. */
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
