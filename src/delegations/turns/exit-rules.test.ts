import { describe, expect, it } from "vitest";
import type { Profile } from "../../agents/profiles/profile.ts";
import type { ScriptedReply } from "../../models/scripted/playbook.ts";
import type { Script } from "../../models/scripted/scripted-model.ts";
import { ofType, openEngine, recording, testProfile } from "../../testing/engine-fixture.ts";

/** An agent of this profile that gives these answers, one a turn, the last one from then on. */
async function run(profile: Partial<Profile>, replies: readonly (ScriptedReply | string)[]) {
  const script: Script = ({ caller }) => replies[Math.min(caller.turn, replies.length) - 1] ?? "";
  const { seen, model } = recording(script);
  await using mandate = await openEngine({
    profiles: [
      testProfile("agent", {
        tools: ["list_files", "complete_task", "submit_for_review", "ask_user"],
        ...profile,
      }),
    ],
    model,
    limits: { maxRetries: 0, askDeadlineMs: 1, askDefault: "green" },
  });
  const { workspace } = mandate;
  const { result, events } = await mandate.run({ task: "go", profile: "agent", workspace });
  return { result, events, seen };
}

const complete = (input: object): ScriptedReply => ({ calls: [{ tool: "complete_task", input }] });
const list: ScriptedReply = { calls: [{ tool: "list_files", input: {} }] };

describe("an agent that must complete its task", () => {
  const exit = { exit: { tools: ["complete_task"] } };

  it("ends by saying so; its summary is the result", async () => {
    const { result, events } = await run(exit, [complete({ summary: "All of it." })]);
    expect(result).toMatchObject({
      status: "completed",
      result: "All of it.",
      closeReason: "report_accepted",
    });
    expect(ofType(events, "agent.tool_completed")[0]?.payload).toMatchObject({
      exit: "All of it.",
    });
  });

  it("is nudged when it just stops, and the nudge names what to call", async () => {
    const { result, seen } = await run(exit, ["I am done.", complete({ summary: "Now I am." })]);
    expect(result.result).toBe("Now I am.");
    expect(seen[1]?.messages.at(-1)).toMatchObject({
      role: "user",
      text: expect.stringContaining("complete_task"),
    });
  });

  it("has a person asked when it stops again and again, and fails when nobody answers", async () => {
    const { events, result, seen } = await run(exit, ["I am done."]);
    expect(result).toMatchObject({ status: "failed", closeReason: "exit_rule_unmet" });
    expect(seen).toHaveLength(4);
    const [asked] = ofType(events, "agent.asked");
    expect(asked?.payload.question).toContain("complete_task");
  });

  it("has not ended when its turns run out before it says so", async () => {
    const short = { ...exit, limits: { turns: 2 } };
    const { events, result } = await run(short, [list, "I am done."]);
    expect(result).toMatchObject({ status: "failed", closeReason: "exit_rule_unmet" });
    expect(result.result).toBe("It ended without calling complete_task. It said last: I am done.");
    expect(ofType(events, "run.finished")[0]?.payload.outcome).toBe("failed");
    const last = await run(short, [list, complete({ summary: "In time." })]);
    expect(last.result).toMatchObject({ status: "completed", result: "In time." });
  });

  it("does not end by a call that does not fit, or by the words alone", async () => {
    const { result, events } = await run(exit, [
      complete({}),
      complete({ summary: "" }),
      complete({ summary: "x", confidence: 2 }),
      'complete_task({"summary": "DONE"})',
      complete({ summary: "properly" }),
    ]);
    expect(result.result).toBe("properly");
    expect(ofType(events, "agent.tool_denied")).toHaveLength(3);
  });

  it("may have several ways out", async () => {
    const either = { exit: { tools: ["complete_task", "submit_for_review"] } };
    const review = {
      calls: [{ tool: "submit_for_review", input: { message: "Please look at it." } }],
    };
    const { result } = await run(either, ["hm", review]);
    expect(result).toMatchObject({ status: "completed", result: "Please look at it." });
  });

  it("does not end by a way out that its rule does not name, and is told which it may take", async () => {
    const review = { calls: [{ tool: "submit_for_review", input: { message: "Look at it." } }] };
    const { result, events, seen } = await run(exit, [review, complete({ summary: "Done." })]);
    expect(result).toMatchObject({ status: "completed", result: "Done." });
    expect(ofType(events, "agent.tool_denied").map(({ payload }) => payload)).toMatchObject([
      { tool: "submit_for_review", rule: "exit_not_allowed" },
    ]);
    expect(seen[1]?.messages.at(-1)).toMatchObject({
      text: "You may stop only by calling complete_task.",
      isError: true,
    });
  });

  it("may still ask a question on its way, and goes on with the answer", async () => {
    const ask = { calls: [{ tool: "ask_user", input: { message: "Blue or green?" } }] };
    const { result, seen } = await run(exit, [ask, complete({ summary: "Painted." })]);
    expect(result.result).toBe("Painted.");
    expect(seen[1]?.messages.at(-1)?.text).toContain("green");
  });

  it("does what else it asked for in the same turn before it ends", async () => {
    const both = {
      calls: [{ tool: "list_files" }, { tool: "complete_task", input: { summary: "Both." } }],
    };
    const { result } = await run(exit, [both]);
    expect(result).toMatchObject({ result: "Both.", evidence: { tool_calls: 2 } });
  });

  it("hands in structured outputs with its summary", async () => {
    const { result } = await run(exit, [
      complete({ summary: "s", outputs: { files: 3 }, confidence: 0.5 }),
    ]);
    expect(JSON.parse(result.result)).toEqual({
      summary: "s",
      outputs: { files: 3 },
      confidence: 0.5,
    });
  });
});

describe("an agent that may end by asking", () => {
  const exit = { exit: { tools: ["ask_user"] } };
  const ask = { calls: [{ tool: "ask_user", input: { message: "Blue or green?" } }] };

  it("ends with its question as the result, and nobody is made to wait for an answer", async () => {
    const { result, events, seen } = await run(exit, [ask, "not reached"]);
    expect(result).toMatchObject({ status: "completed", result: "Blue or green?" });
    expect(seen).toHaveLength(1);
    expect(ofType(events, "agent.asked")).toEqual([]);
  });

  it("does not end by completing its task, or by a text", async () => {
    const { result, events } = await run(exit, ["done", complete({ summary: "s" }), ask]);
    expect(result.result).toBe("Blue or green?");
    expect(ofType(events, "agent.tool_denied")[0]?.payload.rule).toBe("exit_not_allowed");
  });
});

describe("an agent without an exit rule", () => {
  it("ends with its final text, or with complete_task when it likes", async () => {
    expect((await run({}, ["text"])).result).toMatchObject({ status: "completed", result: "text" });
    expect((await run({}, [complete({ summary: "tool" })])).result).toMatchObject({
      result: "tool",
    });
  });
});

describe("evidence", () => {
  const exit = { exit: { evidence: "tool_calls" as const } };

  it("is required: a report without a single completed call is not accepted", async () => {
    const { result, events } = await run(exit, ["I checked everything."]);
    expect(result).toMatchObject({ status: "failed", closeReason: "exit_rule_unmet" });
    // It had finished its work; what failed is its acceptance.
    expect(ofType(events, "agent.subagent_waiting_for_merge")).toHaveLength(1);
    expect(ofType(events, "agent.subagent_completed")).toEqual([]);
    expect(ofType(events, "agent.subagent_failed")[0]?.payload.code).toBe("exit_rule_unmet");
  });

  it("is not a call that was refused or failed", async () => {
    const refused = { calls: [{ tool: "read_file", input: { path: "none" } }] };
    const failed = { calls: [{ tool: "list_files", input: { path: "none" } }] };
    expect((await run(exit, [refused, failed, "done"])).result.closeReason).toBe("exit_rule_unmet");
  });

  it("is a call that was made", async () => {
    const { result } = await run(exit, [list, "done"]);
    expect(result).toMatchObject({ status: "completed", evidence: { tool_calls: 1 } });
  });
});

describe("structured output", () => {
  const outputSchema = {
    type: "object",
    properties: { count: { type: "integer" } },
    required: ["count"],
    additionalProperties: false,
  };
  const exit = { exit: { outputSchema } };

  it("that fits is taken, with or without a code fence around it", async () => {
    expect((await run(exit, ['{"count": 3}'])).result).toMatchObject({ status: "completed" });
    const fenced = await run(exit, ['```json\n{"count": 3}\n```']);
    expect(fenced.result.status).toBe("completed");
  });

  it("that does not fit is repaired once: the model is told what is wrong", async () => {
    const { result, seen, events } = await run(exit, ["three", '{"count": 3}']);
    expect(result).toMatchObject({ status: "completed", result: '{"count": 3}' });
    expect(seen[1]?.messages.at(-1)?.text).toMatch(/does not fit the schema.*not JSON/);
    expect(ofType(events, "agent.interjected")[0]?.payload.from).toBe("repair");
  });

  it.each([
    ["three", '{"count": "3"}'],
    ['{"count": 3.5}', "{}"],
    ['{"count": 3, "more": 1}', "[]"],
  ])("%s, then %s, is a failure: there is no second repair", async (first, second) => {
    const { result, seen } = await run(exit, [first, second, '{"count": 3}']);
    expect(result).toMatchObject({ status: "failed", closeReason: "invalid_model_output" });
    expect(seen).toHaveLength(2);
  });

  it("through complete_task is about its outputs", async () => {
    const both = { exit: { tools: ["complete_task"], outputSchema } };
    const wrong = complete({ summary: "s", outputs: { count: "3" } });
    const right = complete({ summary: "s", outputs: { count: 3 } });
    const { result } = await run(both, [wrong, right]);
    expect(result.status).toBe("completed");
    expect(JSON.parse(result.result).outputs).toEqual({ count: 3 });
    const missing = await run(both, [complete({ summary: '{"count": 3}' })]);
    expect(missing.result.closeReason).toBe("invalid_model_output");
  });
});
