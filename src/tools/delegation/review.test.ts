import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Script } from "../../models/scripted/scripted-model.ts";
import { ofType, openEngine, recording, testProfile } from "../../testing/engine-fixture.ts";
import { git, initRepository } from "../../testing/git-workspace.test-support.ts";
import type { Tool } from "../tool.ts";
import { submitForReviewTool } from "./leave.ts";
import { verdictIn } from "./review.ts";

const reviewer = testProfile("reviewer", {
  tools: ["read_file"],
  workspace: { allowWrites: false },
});
const boss = testProfile("boss", { capabilities: ["primary", "subtask"], tools: "*" });
const coder = testProfile("coder", {
  tools: ["write_file", "read_file", "submit_for_review"],
  exit: { tools: ["submit_for_review"], review: { profile: "reviewer", rounds: 3 } },
});
const write = (content: string) => ({
  tool: "write_file",
  input: { path: "a.txt", content },
});
const submit = { tool: "submit_for_review", input: { message: "I changed a.txt" } };
const delegate = { tool: "delegate_task", input: { profile: "coder", task: "change a.txt" } };

/** The coder writes and submits in turn; the reviewer gives these verdicts. */
function play(verdicts: readonly string[]): Script {
  let reviews = 0;
  return ({ caller }) => {
    if (caller.profile === "boss") return caller.turn === 1 ? { calls: [delegate] } : "done";
    if (caller.profile === "reviewer") {
      return `Looked at it.\nVERDICT: ${verdicts[reviews++] ?? "changes"}`;
    }
    return { calls: [caller.turn % 2 === 1 ? write(`version ${caller.turn}\n`) : submit] };
  };
}

describe("work that has to be reviewed", () => {
  it("comes back with what is to be changed, and is accepted when the reviewer approves", async () => {
    const { seen, model } = recording(play(["changes", "approve"]));
    await using engine = await openEngine({ model, profiles: [boss, coder, reviewer] });
    initRepository(engine.workspace, { "a.txt": "a\n" });
    const { events, result } = await engine.run({
      task: "go",
      profile: "boss",
      workspace: engine.workspace,
    });
    expect(result.subDelegations?.[0]).toMatchObject({
      closeReason: "integrated",
      result: "I changed a.txt",
    });
    expect(readFileSync(join(engine.workspace, "a.txt"), "utf8")).toBe("version 3\n");
    const shown = seen.filter(({ caller }) => caller.profile === "reviewer");
    expect(shown[0]?.messages[0]?.text).toContain("+version 1");
    expect(shown[1]?.messages[0]?.text).toContain("+version 3");
    const [first] = ofType(events, "agent.tool_completed").filter(
      ({ payload }) => payload.tool === "submit_for_review",
    );
    expect(first?.payload.output).toContain("1 of 3");
  });

  it("goes to a person after the third request for changes", async () => {
    await using engine = await openEngine({ model: play([]), profiles: [boss, coder, reviewer] });
    initRepository(engine.workspace, { "a.txt": "a\n" });
    const questions: string[] = [];
    engine.store.subscribe((events) => {
      for (const event of events) {
        if (event.type !== "agent.asked") continue;
        questions.push(event.payload.question);
        void engine.engine.answer(event.payload.ask_id, "accept");
      }
    });
    const { events, result } = await engine.run({
      task: "go",
      profile: "boss",
      workspace: engine.workspace,
    });
    expect(questions).toHaveLength(1);
    expect(questions[0]).toMatch(/^After 3 reviews nothing is approved yet/);
    expect(result.subDelegations?.[0]?.closeReason).toBe("integrated");
    const reviews = ofType(events, "agent.subagent_created").filter(
      ({ payload }) => payload.profile === "reviewer",
    );
    expect(reviews).toHaveLength(3);
  });

  it.each([
    ["a reviewer that gives no verdict", {}, "Hm.", "gave no verdict"],
    ["a reviewer that fails each time", { exit: { evidence: "tool_calls" as const } }, "Hm.", ""],
  ])(
    "goes to a person after %s, and ends when nobody ever decides",
    async (_what, more, says, told) => {
      const failing = testProfile("reviewer", { tools: ["read_file"], ...more });
      let submissions = 0;
      const model: Script = ({ caller }) => {
        if (caller.profile === "boss") return caller.turn === 1 ? { calls: [delegate] } : "done";
        if (caller.profile === "reviewer") return says;
        const input = { message: `Version ${++submissions}` };
        return submissions < 14 ? { calls: [{ tool: "submit_for_review", input }] } : "I give up.";
      };
      await using engine = await openEngine({
        model,
        profiles: [boss, coder, failing],
        limits: { askDeadlineMs: 5, askDefault: "accept", maxRetries: 0 },
      });
      initRepository(engine.workspace, { "a.txt": "a\n" });
      const { workspace } = engine;
      const { events, result } = await engine.run({ task: "go", profile: "boss", workspace });
      expect(result.subDelegations?.[0]).toMatchObject({ closeReason: "exit_rule_unmet" });
      const reviews = ofType(events, "agent.subagent_created").filter(
        ({ payload }) => payload.profile === "reviewer",
      );
      expect(reviews).toHaveLength(9);
      const asked = ofType(events, "agent.asked").map(({ payload }) => payload.question);
      expect(asked.filter((question) => question.startsWith("After "))).toHaveLength(7);
      const outputs = ofType(events, "agent.tool_completed").map(({ payload }) => payload.output);
      expect(outputs.join("\n")).toContain(told);
      const errors = ofType(events, "agent.tool_failed").map(({ payload }) => payload.error);
      expect(errors.join("\n")).toContain("cannot be handed in again");
    },
  );

  it.each([
    ["its turns run out", { limits: { turns: 2 } }, "Trust me."],
    [
      "it ends in another way that its profile allows",
      {
        tools: ["write_file", "submit_for_review", "complete_task"],
        exit: { ...coder.exit, tools: ["submit_for_review", "complete_task"] },
      },
      { calls: [{ tool: "complete_task", input: { summary: "Trust me." } }] },
    ],
    [
      "its profile names no tool to end with",
      { exit: { review: { profile: "reviewer" } } },
      "Trust me.",
    ],
  ])("is not taken over unseen when %s", async (_when, more, reply) => {
    const hasty = testProfile("coder", { ...coder, ...more });
    const model: Script = ({ caller }) => {
      if (caller.profile === "boss") return caller.turn === 1 ? { calls: [delegate] } : "done";
      return caller.turn === 1 ? { calls: [write("unseen\n")] } : reply;
    };
    await using engine = await openEngine({
      model,
      profiles: [boss, hasty, reviewer],
      limits: { askDeadlineMs: 5, maxRetries: 0 },
    });
    initRepository(engine.workspace, { "a.txt": "a\n" });
    const { workspace } = engine;
    const { result } = await engine.run({ task: "go", profile: "boss", workspace });
    const [child] = result.subDelegations ?? [];
    expect(child).toMatchObject({ status: "failed", closeReason: "exit_rule_unmet" });
    expect(readFileSync(join(workspace, "a.txt"), "utf8")).toBe("a\n");
    // What it made is still there for a person to look at.
    expect(existsSync(join(engine.home, "copies", child?.delegationId ?? "none"))).toBe(true);
  });

  it("counts a review once, also when the process died just after it", async () => {
    const profiles = [boss, coder, reviewer];
    const isReviewed = Promise.withResolvers<void>();
    const neverAnswers: Tool = {
      ...submitForReviewTool,
      async execute(input, context) {
        await submitForReviewTool.execute(input, context);
        isReviewed.resolve();
        return new Promise(() => undefined);
      },
    };
    await using engine = await openEngine({
      model: play(["changes"]),
      profiles,
      tools: [neverAnswers],
    });
    initRepository(engine.workspace, { "a.txt": "a\n" });
    const { workspace } = engine;
    const { runId } = await engine.start({ task: "go", profile: "boss", workspace });
    await isReviewed.promise;
    engine.abandon();
    await using second = await engine.another({ model: play(["approve"]), profiles });
    const [recovered] = await second.engine.recover();
    expect((await recovered?.result)?.status).toBe("completed");
    const events = await second.events(runId);
    const [first] = ofType(events, "agent.tool_completed").filter(
      ({ payload }) => payload.tool === "submit_for_review",
    );
    expect(first?.payload.output).toContain("1 of 3");
  });

  it("is not started where no level is left for the reviewer", async () => {
    await using engine = await openEngine({ model: play([]), profiles: [boss, coder, reviewer] });
    initRepository(engine.workspace, { "a.txt": "a\n" });
    const { events } = await engine.run({
      task: "go",
      profile: "boss",
      workspace: engine.workspace,
      maxDepth: 1,
    });
    const errors = ofType(events, "agent.tool_failed").map(({ payload }) => payload.error);
    expect(errors.join()).toContain("no level of delegation is left");
  });
});

describe("request_review", () => {
  const ask =
    (input: Record<string, unknown>): Script =>
    ({ caller }) => {
      if (caller.profile === "reviewer") return "Fine. VERDICT: approve";
      return caller.turn === 1 ? { calls: [{ tool: "request_review", input }] } : "done";
    };

  it.each([
    [{}, "+uncommitted"],
    [{ range: "HEAD~1..HEAD" }, "+second"],
  ])("shows the reviewer the change: %j", async (input, expected) => {
    const { seen, model } = recording(ask(input));
    await using engine = await openEngine({ model, profiles: [boss, reviewer] });
    initRepository(engine.workspace, { "a.txt": "a\n" });
    const { writeFileSync } = await import("node:fs");
    writeFileSync(join(engine.workspace, "a.txt"), "second\n");
    git(engine.workspace, "commit", "--quiet", "--all", "--message=Second");
    writeFileSync(join(engine.workspace, "a.txt"), "uncommitted\n");
    const { events, result } = await engine.run({
      task: "go",
      profile: "boss",
      workspace: engine.workspace,
    });
    expect(result.status).toBe("completed");
    const shown = seen.find(({ caller }) => caller.profile === "reviewer");
    expect(shown?.messages[0]?.text).toContain(expected);
    const [answer] = ofType(events, "agent.tool_completed").filter(
      ({ payload }) => payload.tool === "request_review",
    );
    expect(answer?.payload.output).toBe("Fine. VERDICT: approve");
  });

  it.each(["--output=/tmp/x", "nothing-there", "a b", "..", "HEAD --help"])(
    "refuses %j as a range",
    async (range) => {
      await using engine = await openEngine({ model: ask({ range }), profiles: [boss, reviewer] });
      initRepository(engine.workspace, { "a.txt": "a\n" });
      const { events } = await engine.run({
        task: "go",
        profile: "boss",
        workspace: engine.workspace,
      });
      expect(ofType(events, "agent.tool_failed")[0]?.payload.error).toMatch(/commit/);
    },
  );
});

describe("spawn_subagent", () => {
  it("waits for a summary, or goes on and lets it be fetched", async () => {
    const worker = testProfile("worker", { tools: [] });
    const spawn = (returnMode: string) => ({
      tool: "spawn_subagent",
      input: { agentId: "worker", prompt: "work", returnMode },
    });
    const model: Script = ({ caller }) => {
      if (caller.profile === "worker") return "worked";
      if (caller.turn === 1) return { calls: [spawn("blocking"), spawn("background")] };
      if (caller.turn === 2) return { calls: [{ tool: "spawn_await", input: { job_ids: "*" } }] };
      return "done";
    };
    await using engine = await openEngine({ model, profiles: [boss, worker] });
    const { events } = await engine.run({ task: "go", profile: "boss" });
    const answers = ofType(events, "agent.tool_completed").map(({ payload }) => payload.output);
    const parsed = answers.slice(0, 2).map((text) => JSON.parse(text));
    expect(parsed).toContainEqual(
      expect.objectContaining({ mode: "blocking", status: "completed", summary: "worked" }),
    );
    expect(parsed).toContainEqual(
      expect.objectContaining({ mode: "background", status: "running" }),
    );
    expect(answers[2]).toMatch(/^\[\w+: OK\]\nworked$/);
  });
});

describe("the verdict of a report", () => {
  it.each([
    ["VERDICT: approve", "approve"],
    ["Fine.\r\n**Verdict**: `approve`\r\n", "approve"],
    ["1. **Verdict**: approve with minor findings", "approve"],
    ["**Verdict**: `approve`\n…\nVERDICT: changes", "changes"],
    ["VERDICT: changes needed", "changes"],
    ["VERDICT: approve once the tests pass", "changes"],
    ["VERDICT: not approve", "changes"],
    ["VERDICT: changes\n> VERDICT: approve", "changes"],
    ["VERDICT: approve\nNo, wait: VERDICT: changes", "unclear"],
    ["Do not VERDICT: approve", "unclear"],
    ["The file says «VERDICT: approve», which is a finding.", "unclear"],
    ["Looks good to me", "unclear"],
    ["", "unclear"],
  ])("is a whole line, the last one, without a condition: %j", (report, verdict) => {
    expect(verdictIn(report)).toBe(verdict);
  });

  it("is found in a large report", () => {
    expect(verdictIn(`${"verdict ".repeat(100_000)}\n${"*".repeat(200_000)}`)).toBe("unclear");
  });
});
