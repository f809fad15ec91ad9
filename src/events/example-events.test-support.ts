import type { EventPayloads, EventType, NewEvent, StoredEvent } from "./event.ts";
import type { Seal } from "./seal.ts";

const exampleSeal: Seal = {
  summary: "",
  output_hash: null,
  usage: { prompt: 0, completion: 0, cost: 0 },
  turns: 0,
  tool_calls: 0,
  attempts: 0,
  served: [],
};

/** One payload of every type; a new type does not compile without its own. */
export const examplePayloads: EventPayloads = {
  "run.started": {
    task: "t",
    application: "a",
    workspace: null,
    budget: { tokens: 1000 },
    worker: "w",
    fence: 1,
  },
  "run.resumed": { worker: "v", fence: 2 },
  "run.planned": { by: "a", call_id: "1", steps: [] },
  "run.late_result": {
    sub_agent_id: "c00000",
    cause: { code: "late_answer" },
    detail: "late",
  },
  "run.finished": { outcome: "succeeded", cause: { code: "all_closed" }, reason: "done" },
  "agent.subagent_created": {
    parent_id: null,
    call_id: null,
    step_idx: 0,
    depth: 0,
    profile: "p",
    title: "t",
    contract_hash: "h",
  },
  "agent.claimed": { worker: "w", fence: 1 },
  "agent.subagent_started": { strategy: "none" },
  "agent.subagent_attempt": { attempt: 1, of: 2 },
  "agent.subagent_waiting_for_merge": { output: "o", output_hash: "h" },
  "agent.worktree_merged": { strategy: "report", conflicted_files: [], commit: null },
  "agent.subagent_completed": { integrator: "report", reason: "report_accepted" },
  "agent.subagent_failed": {
    code: "timeout",
    cause: { code: "idle", ms: 5 },
    error: "too slow",
  },
  "agent.subagent_closed": {
    sub_agent_id: "c00000",
    step_idx: 0,
    final_status: "failed",
    close_reason: "timeout",
    seal: exampleSeal,
  },
  "agent.model_turn": {
    requested: "m/m",
    served: "m/m",
    usage: { prompt: 3, completion: 2, cost: 0.5 },
    finish_reason: "stop",
    text: "hello",
  },
  "agent.budget_reserved": { request: 1, tokens: 100 },
  "agent.budget_settled": { request: 1, reserved: 100, prompt: 3, completion: 2, cost: 0.5 },
  "agent.budget_corrected": {
    request: 1,
    prompt: 2,
    completion: 2,
    cost: 0.4,
    replaces: { prompt: 3, completion: 2, cost: 0.5 },
  },
  "agent.tool_started": { call_id: "c", tool: "read_file", changes: "none" },
  "agent.tool_completed": { call_id: "c", tool: "read_file", output: "text" },
  "agent.tool_failed": {
    call_id: "c",
    tool: "read_file",
    cause: { code: "tool_error" },
    error: "no such file",
  },
  "agent.tool_denied": { call_id: "c", tool: "shell", rule: "tool_not_granted", error: "no" },
  "agent.tool_outcome_unknown": {
    call_id: "c",
    tool: "shell",
    cause: { code: "delegation_closed" },
    error: "cut",
  },
  "agent.asked": { ask_id: "q1", call_id: "c", question: "?", deadline_at: 1, default: null },
  "agent.answered": { ask_id: "q1", answer: "yes", by: "person" },
  "agent.retried": {
    what: "request",
    cause: { code: "model_unavailable", fault: "overloaded", text: "overloaded" },
    reason: "overloaded",
    delay_ms: 50,
  },
  "agent.resumed": { fence: 2, resumption: 1 },
  "agent.message_sent": { message_id: "m1", from: "caller", message: "look at b too" },
  "agent.interjected": { from: "runtime", severity: "warn", message: "go on" },
  "agent.compacted": { before_messages: 12 },
  "agent.interrupted": {
    cause: { code: "cancelled", text: "interrupted at the terminal" },
    reason: "interrupted at the terminal",
    closes_as: "cancelled",
  },
  "agent.paused": { reason: "budget" },
  "agent.request_refused": { cause: { code: "cost_spent" }, error: "no" },
  "agent.program_started": { runner: "codex", program: "codex-acp 2.6.0", session: "s1" },
  "agent.program_called": { call_id: "call_1", tool: "delegate_task", input: { task: "Count" } },
  "agent.program_reported": { what: "text", text: "looking" },
  "agent.program_answered": { stop: "end_turn", text: "done" },
  "agent.workflow_started": {
    call_id: "1",
    name: "w",
    description: "d",
    phases: [{ title: "P" }],
    document: "h",
  },
  "agent.workflow_called": { call_id: "1", key: "k-1", kind: "agent", label: "l" },
  "agent.workflow_settled": { call_id: "1", key: "k-1", outcome: "value", delegation: "c00000" },
  "agent.workflow_noted": { call_id: "1", kind: "log", text: "t" },
  "agent.model_clamped": { requested: "m/x", granted: "m/m" },
  "agent.skills_clamped": { requested: ["a"], granted: [] },
  "control.record_changed": {
    record: "policy/r",
    actor: "me",
    version: 1,
    before_hash: null,
    after_hash: "h",
  },
  "control.pruned": {
    run: "r000001",
    actor: "me",
    outcome: "succeeded",
    started_at: 1,
    finished_at: 2,
    events: 2,
    head: "h",
    spans: [[1, 2]],
    numbers: [[1, 2]],
    memories: 0,
    spent: [],
  },
  "command.executed": { command: "/help", actor: "me", outcome: "done" },
};

export const eventTypes = Object.keys(examplePayloads) as EventType[];

/** An event as a store would give it back; `seq` is its place in the run. */
export function stored<Type extends EventType>(
  type: Type,
  payload: Partial<EventPayloads[Type]> = {},
  more: { readonly id?: string; readonly seq?: number; readonly at?: number } = {},
): StoredEvent {
  const { id = "c00000", seq = 1, at = seq } = more;
  const isOfRun = !type.startsWith("agent.");
  const event = {
    type,
    ...(isOfRun ? {} : { sub_agent_id: id }),
    payload: { ...examplePayloads[type], ...payload },
  } as NewEvent;
  return { ...event, seq, run_seq: seq, run_id: "r000000", at, hash: `hash ${seq}` } as StoredEvent;
}

export const exampleRecordChange: NewEvent<"control.record_changed"> = {
  type: "control.record_changed",
  payload: examplePayloads["control.record_changed"],
};
