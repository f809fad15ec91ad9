/** Every tool of the product, disabled and unavailable ones included: profiles may name all of them. */
export const shippedTools: ReadonlySet<string> = new Set([
  ...["read_file", "write_file", "edit_file", "list_files", "glob", "grep", "document_query"],
  ...["shell", "web_fetch", "web_search", "search", "load_skill", "memory_load", "memory_save"],
  ...["delegate_task", "delegate_to_agent", "spawn", "spawn_await", "spawn_subagent"],
  ...["request_review", "submit_plan", "interject", "list_profiles", "list_sub_agents"],
  ...["perform_workflow", "run_workflow"],
  ...[
    "get_delegation_result",
    "cancel_delegation",
    "send_message",
    "peek_result",
    "search_result",
    "slice_result",
  ],
  ...["complete_task", "submit_for_review", "ask_user"],
]);

/** The scopes that they ask for. */
export const shippedScopes: ReadonlySet<string> = new Set([
  ...["files:read", "files:write", "shell", "web", "memory:read", "memory:write"],
]);

/** The shipped tools that change something, hand work on or end an agent: a watcher gets none of them. */
export const changingTools: ReadonlySet<string> = new Set([
  ...["write_file", "edit_file", "shell", "memory_save", "complete_task", "submit_for_review"],
  ...["delegate_task", "delegate_to_agent", "spawn", "spawn_await", "spawn_subagent"],
  ...["request_review", "submit_plan", "cancel_delegation", "send_message", "ask_user"],
  ...["perform_workflow", "run_workflow"],
]);
