/** Those that make delegations. */
export const delegatingNames: ReadonlySet<string> = new Set([
  "delegate_task",
  "spawn",
  "spawn_subagent",
  "request_review",
  "delegate_to_agent",
]);

/** Those that may wait for one; known before anything is opened. */
export const longNames: ReadonlySet<string> = new Set([
  "delegate_task",
  "spawn_subagent",
  "request_review",
  "delegate_to_agent",
  "spawn_await",
  "get_delegation_result",
]);

/** Less than the 60 seconds after which many clients give up on a call. */
export const longestWaitMs = 45_000;
