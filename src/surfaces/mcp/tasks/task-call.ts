import type { InputRequest, ServerContext } from "@modelcontextprotocol/server";

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
