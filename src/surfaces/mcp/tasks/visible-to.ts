import type { ClientCapabilities, InputRequest } from "@modelcontextprotocol/server";
import type { Task } from "./task.ts";

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
