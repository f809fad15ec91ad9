import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { EventType, NewEvent } from "./event.ts";
import { examplePayloads } from "./example-events.test-support.ts";
import { summarize } from "./summarize.ts";
import { upcast } from "./upcast.ts";

/** As version 0.1.0 wrote them: [close reason, sentence, cause]. */
const failures = [
  ["timeout", "It took longer than 300 ms.", { code: "total_deadline", ms: 300 }],
  [
    "timeout",
    "It took longer than 300 ms, and kept its process from doing anything else.",
    { code: "total_deadline", ms: 300, blocked: true },
  ],
  ["timeout", "An attempt took longer than 20 ms.", { code: "attempt_deadline", ms: 20 }],
  ["timeout", "Nothing happened for 7 ms.", { code: "idle", ms: 7 }],
  [
    "timeout",
    "The model gave no first token for 9 ms.",
    { code: "model_stalled", token: "first", ms: 9 },
  ],
  [
    "timeout",
    "The model gave no further token for 9 ms.",
    { code: "model_stalled", token: "next", ms: 9 },
  ],
  ["timeout", "Its caller was ended.", { code: "caller_ended", closed_as: "timeout" }],
  [
    "cancelled",
    "I changed my mind.\nReally.",
    { code: "cancelled", text: "I changed my mind.\nReally." },
  ],
  ["cancelled", "", { code: "cancelled", text: "" }],
  ["cancelled", "Its caller was cancelled.", { code: "caller_cancelled" }],
  ["cancelled", "Its caller was interrupted.", { code: "caller_interrupted" }],
  ["cancelled", "Its caller was ended.", { code: "caller_ended", closed_as: "cancelled" }],
  ["cancelled", "The program that asked for it took its call back.", { code: "call_withdrawn" }],
  ["parent_closed", "Its caller ended before it did.", { code: "caller_closed" }],
  ["parent_crash", "The program that held this session is gone.", { code: "program_gone" }],
  ["storage_full", "The disk is full.", { code: "storage_full", text: "The disk is full." }],
  ["worker_lost", "Its working copy is gone.", { code: "working_copy_gone" }],
  [
    "worker_lost",
    "It was taken up 3 times without getting any further.",
    { code: "resumptions_exhausted", times: 3 },
  ],
  ["worker_lost", "An unexpected error ended the work: x", { code: "unexpected_error", text: "x" }],
  [
    "worker_lost",
    "The workspace /w is gone.",
    { code: "unclassified", closed_as: "worker_lost", text: "The workspace /w is gone." },
  ],
  [
    "policy_denied",
    "5 calls in a row were refused by the contract.",
    { code: "denied_streak", calls: 5 },
  ],
  ["policy_denied", "The turn was refused: not now", { code: "turn_refused", text: "not now" }],
  [
    "policy_denied",
    'It changed "a.txt", "b c.txt" and 3 more, where its contract does not let it write. Nothing of it was taken over.',
    { code: "wrote_outside", paths: ["a.txt", "b c.txt"], total: 5 },
  ],
  [
    "policy_denied",
    'It changed ".mcp.json", which is configuration that the next start obeys. Nothing of it was taken over.',
    { code: "wrote_protected", paths: [".mcp.json"], total: 1 },
  ],
  [
    "policy_denied",
    "A person did not want its changes merged.",
    { code: "merge_not_approved", answered: true },
  ],
  [
    "policy_denied",
    "Nobody said in time that its changes may be merged.",
    { code: "merge_not_approved", answered: false },
  ],
  [
    "policy_denied",
    "The plan was not run. Error: no",
    { code: "plan_not_run", refused: true, text: "The plan was not run. Error: no" },
  ],
  ["provider_unavailable", "overloaded", { code: "model_unavailable", text: "overloaded" }],
  [
    "provider_unavailable",
    "busy It asks to wait 60000 ms, which is longer than the delegation has left.",
    { code: "model_unavailable", text: "busy", wait_ms: 60_000 },
  ],
  [
    "budget_exhausted",
    "What it may cost is spent, and there is no answer yet.",
    { code: "cost_spent" },
  ],
  [
    "budget_exhausted",
    "A single answer may cost $0.0123 here, and $0.000000007 are left of what it may cost.",
    { code: "cost_too_small", needed: 0.0123, left: 7e-9 },
  ],
  [
    "budget_exhausted",
    "The budget is too small for a single answer, which may take 11403 tokens here.",
    { code: "tokens_too_small", needed: 11_403 },
  ],
  [
    "no_progress",
    "The conversation does not fit the model's window: too long",
    { code: "window_exceeded", text: "too long" },
  ],
  ["no_progress", "It made the same call 5 times in a row.", { code: "same_call", times: 5 }],
  [
    "model_mismatch",
    "The contract pins a/b, then c/d, but e answered.",
    { code: "model_mismatch", pinned: ["a/b", "c/d"], served: "e" },
  ],
  ["truncated", "The provider's filter ended the answer.", { code: "answer_filtered" }],
  ["truncated", "The provider cut the answer at its length limit, twice.", { code: "answer_cut" }],
  ["empty_output", "The model answered with nothing, twice.", { code: "answer_empty" }],
  [
    "invalid_model_output",
    "5 calls in a row were unknown or malformed.",
    { code: "invalid_streak", calls: 5 },
  ],
  [
    "invalid_model_output",
    "The result does not fit the schema it was asked for, after one repair: it is not JSON.",
    { code: "schema_unmet", text: "it is not JSON." },
  ],
  [
    "exit_rule_unmet",
    "It ended without calling complete_task or ask_user. It said last: done.",
    { code: "exit_missing", tools: ["complete_task", "ask_user"], text: "done." },
  ],
  [
    "exit_rule_unmet",
    "It stopped without calling complete_task, and nobody said what it shall do.",
    { code: "exit_unanswered", tools: ["complete_task"] },
  ],
  [
    "exit_rule_unmet",
    "The contract asks for evidence, and not a single tool call was completed.",
    { code: "evidence_missing", evidence: "tool_calls" },
  ],
  ["exit_rule_unmet", "Tests failed.", { code: "check_failed", text: "Tests failed." }],
  [
    "merge_interrupted",
    "Its changes could not be taken over: no git",
    { code: "changes_not_merged", text: "no git" },
  ],
  ["merge_conflict", "a.txt", { code: "merge_conflict", text: "a.txt" }],
] as const;

const types = Object.keys(examplePayloads) as EventType[];

function old(type: EventType, payload: object): NewEvent {
  return upcast({ type, payload } as NewEvent);
}

describe("an event of an earlier version", () => {
  it("gets the cause that its sentence stands for", () => {
    for (const [code, error, cause] of failures) {
      const { payload } = old("agent.subagent_failed", { code, error });
      expect(payload).toEqual({ code, error, cause });
    }
  });

  it("of a plan that was left undone names the steps", () => {
    const error = "Not completed of the plan: a, b.\n\nI did what I could.";
    expect(old("agent.subagent_failed", { code: "exit_rule_unmet", error }).payload).toMatchObject({
      cause: { code: "plan_incomplete", steps: ["a", "b"] },
    });
  });

  it("about a retry has the cause of what was tried, and the model that is asked next", () => {
    const retried = (what: string, reason: string): unknown =>
      old("agent.retried", { what, reason, delay_ms: 1 }).payload;
    expect(retried("request", "overloaded")).toMatchObject({
      cause: { code: "model_unavailable", text: "overloaded" },
    });
    expect(retried("attempt", "timeout: An attempt took longer than 20 ms.")).toMatchObject({
      cause: { code: "attempt_deadline", ms: 20 },
    });
    expect(
      retried("model", "a/b cannot be had (too (many) requests). c/d is asked in its place."),
    ).toMatchObject({
      cause: { code: "model_unavailable", text: "too (many) requests" },
      next: "c/d",
    });
  });

  it("about a call tells the runtime's words from the tool's", () => {
    const failed = (error: string): unknown =>
      old("agent.tool_failed", { call_id: "c", tool: "shell", error }).payload;
    expect(failed("Interrupted: the delegation ended.")).toMatchObject({
      cause: { code: "delegation_closed" },
    });
    expect(failed("Error: shell took longer than 50 ms and was stopped.")).toMatchObject({
      cause: { code: "tool_deadline", tool: "shell", ms: 50 },
    });
    expect(failed("no such file")).toMatchObject({ cause: { code: "tool_error" } });
    const unknown = (error: string): unknown =>
      old("agent.tool_outcome_unknown", { call_id: "c", tool: "shell", error }).payload;
    expect(unknown("Interrupted: its outcome is unknown.")).toMatchObject({
      cause: { code: "delegation_closed" },
    });
    const cut = "The call of shell was interrupted and its outcome is unknown.";
    expect(unknown(`${cut} Look at what it did before you repeat it.`)).toMatchObject({
      cause: { code: "call_interrupted", rule: "not_repeated" },
    });
    expect(unknown(`${cut} No.`)).toMatchObject({
      cause: { code: "call_interrupted", rule: "unknown", text: "No." },
    });
  });

  it("that reminded a model has the reminder, and what others said has none", () => {
    const said = (from: string, message: string, severity = "warn"): unknown =>
      old("agent.interjected", { from, severity, message }).payload;
    expect(said("runtime", "Your answer was empty. Continue, or give your result.")).toMatchObject({
      cause: { code: "answer_empty" },
    });
    const down = 'The MCP server "x" did not start. Its tools are not available to you.';
    expect(said("mcp", down)).toMatchObject({
      cause: { code: "server_unavailable", text: 'The MCP server "x" did not start.' },
    });
    expect(said("mcp", down, "info")).not.toHaveProperty("cause");
    expect(said("person", "Your answer was empty. Continue.")).not.toHaveProperty("cause");
  });

  it("about an interrupt, a late result or the end of a run has its cause", () => {
    expect(
      old("agent.interrupted", { reason: "The session ended.", closes_as: "report_accepted" }),
    ).toMatchObject({ payload: { cause: { code: "session_closed" } } });
    const detail = "the result of shell came too late and was discarded";
    expect(old("run.late_result", { sub_agent_id: "c00000", detail }).payload).toMatchObject({
      cause: { code: "late_tool_result", tool: "shell" },
    });
    const finished = (outcome: string, reason: string): unknown =>
      old("run.finished", { outcome, reason }).payload;
    expect(finished("succeeded", "every delegation is closed")).toMatchObject({
      cause: { code: "all_closed" },
    });
    expect(finished("failed", "not completed of the plan: a, b")).toMatchObject({
      cause: { code: "steps_open", steps: ["a", "b"] },
    });
    expect(finished("failed", "timeout: It took longer than 3 ms.")).toMatchObject({
      cause: { code: "total_deadline", ms: 3 },
    });
  });

  it("that recorded a cancelled run as failed says cancelled", () => {
    const finished = old("run.finished", { outcome: "failed", reason: "cancelled: enough" });
    expect(finished.payload).toMatchObject({
      outcome: "cancelled",
      cause: { code: "cancelled", text: "enough" },
    });
    expect(summarize(finished)).toBe("run cancelled: enough");
  });
});

describe("the start of a call that was recorded by its tool's name alone", () => {
  const facts = (tool: unknown): object =>
    old("agent.tool_started", { call_id: "c", tool }).payload;

  it("says what the tools of that version did", () => {
    const about = (tool: string) => ({ call_id: "c", tool });
    for (const [tool, said] of [
      ["read_file", { changes: "none" }],
      ["write_file", { changes: "reported" }],
      ["shell", { changes: "any" }],
      ["delegate_task", { changes: "none", joins: true }],
      ["submit_plan", { changes: "any", joins: true }],
      ["spawn_await", { changes: "none", joins: true, polls: "results" }],
      ["list_sub_agents", { changes: "none", polls: "state" }],
      ["memory_save", { changes: "any", saves_memory: true }],
    ] as const) {
      expect(facts(tool)).toEqual({ ...about(tool), ...said });
    }
  });

  it("says of a tool that the product does not know that it may change anything", () => {
    for (const tool of ["mcp__docs__search", "own_tool", "constructor", 7]) {
      expect(facts(tool)).toEqual({ call_id: "c", tool, changes: "any" });
    }
  });
});

describe("an event with a cause", () => {
  it("is given back as it is, whatever its sentence says", () => {
    for (const type of types) {
      const event = { type, payload: examplePayloads[type] } as NewEvent;
      expect(upcast(event)).toBe(event);
    }
    const cause = { code: "cancelled", text: "Its caller was cancelled." } as const;
    const payload = { code: "cancelled", cause, error: cause.text } as const;
    const cancelled: NewEvent = { type: "agent.subagent_failed", payload };
    expect(upcast(cancelled)).toBe(cancelled);
  });
});

it("is never thrown for, however damaged an event is", () => {
  const words = fc.oneof(fc.string(), fc.constantFrom("constructor", "__proto__", "timeout"));
  const payloads = fc.dictionary(
    fc.constantFrom("code", "error", "reason", "message", "from", "detail", "what", "outcome"),
    fc.oneof(words, fc.jsonValue()),
  );
  fc.assert(
    fc.property(
      fc.oneof(words, fc.constantFrom(...types)),
      fc.oneof(payloads, fc.jsonValue()),
      (type, payload) => {
        upcast({ type, payload } as unknown as NewEvent);
      },
    ),
  );
});
