import { describe, expect, it } from "vitest";
import { tellEvents } from "../../run/gantt/told-events.test-support.ts";
import { toolCallsOf } from "./tool-calls-of.ts";

describe("toolCallsOf", () => {
  it("joins what the model gave with how each call began and ended", () => {
    const calls = toolCallsOf(
      tellEvents(
        [
          1,
          "a",
          "agent.model_turn",
          {
            calls: [
              { id: "1", name: "read_file", input: { path: "a.ts" } },
              { id: "2", name: "shell", input: {} },
              { id: "3", name: "shell", input: null, malformed: "{oops" },
              { id: "4", name: "shell", input: {} },
            ],
          },
        ],
        [2, "a", "agent.tool_started", { call_id: "1", tool: "read_file" }],
        [
          3,
          "a",
          "agent.tool_denied",
          { call_id: "2", tool: "shell", rule: "not_granted", error: "no" },
        ],
        [
          4,
          "a",
          "agent.tool_failed",
          { call_id: "3", tool: "shell", error: "no JSON", exit_code: 2 },
        ],
        [
          5,
          "a",
          "agent.tool_completed",
          { call_id: "1", tool: "read_file", output: "text", exit_code: 0 },
        ],
      ),
    );
    expect(calls).toMatchObject([
      {
        tool: "read_file",
        input: { path: "a.ts" },
        outcome: "done",
        startedAt: 2,
        endedAt: 5,
        exitCode: 0,
      },
      { outcome: "refused", rule: "not_granted", output: "no", startedAt: null },
      { outcome: "failed", malformed: "{oops", exitCode: 2 },
      { outcome: "asked", output: null },
    ]);
  });

  it("keeps calls apart whose id comes again in another attempt, and those that no turn names", () => {
    const again = { calls: [{ id: "1", name: "shell", input: {} }] };
    const calls = toolCallsOf(
      tellEvents(
        [1, "a", "agent.model_turn", again],
        [2, "a", "agent.tool_started", { call_id: "1", tool: "shell" }],
        [3, "a", "agent.model_turn", again],
        [4, "a", "agent.tool_outcome_unknown", { call_id: "1", tool: "shell", error: "cut" }],
        [5, "a", "agent.tool_started", { call_id: "x", tool: "shell" }],
      ),
    );
    expect(calls.map(({ outcome }) => outcome)).toEqual(["running", "unknown", "running"]);
    expect(new Set(calls.map(({ key }) => key)).size).toBe(3);
  });
});
