import { expect, test } from "vitest";
import type { Script } from "../../models/scripted/scripted-model.ts";
import { openEngine, recording, testProfile } from "../../testing/engine-fixture.ts";

const shipped = [
  ...["analyst", "builder", "coder", "general", "oracle", "orchestrator", "pair", "planner"],
  ...["researcher", "reviewer", "summarizer", "writer"],
];

/** The caller delegates once, with this budget. */
const delegating =
  (profile: string, maxTokens: number): Script =>
  ({ caller, tools }) => {
    if (caller.profile !== "lead" || caller.turn > 1) {
      return { text: "It is a port.", usage: { prompt: 200, completion: 20 } };
    }
    expect(tools).toHaveLength(1);
    const input = { profile, task: "What is a harbour?", maxTokens };
    return { calls: [{ tool: "delegate_task", input }] };
  };

test.each(shipped)(
  "A budget of 2,000 tokens gets an answer from %s, within the budget",
  async (profile) => {
    const { model, seen } = recording(delegating(profile, 2000));
    const lead = testProfile("lead", { tools: ["delegate_task"], mayDelegate: { tools: "*" } });
    await using mandate = await openEngine({ model, profiles: [lead] });
    const { runId } = await mandate.run({ task: "Go", profile: "lead" });
    const asked = seen.filter(({ caller }) => caller.depth === 1);
    expect(asked.length).toBeGreaterThan(0);
    for (const { maxOutputTokens } of asked) expect(maxOutputTokens).toBeLessThan(2000);
    const run = await mandate.store.readRun(runId);
    const [child] = [...(run?.delegations.values() ?? [])].filter(
      ({ parentId }) => parentId !== null,
    );
    const result = await mandate.engine.resultOf(child?.id ?? "");
    const { completion = 0, prompt = 0 } = result?.tokenUsage ?? {};
    expect(prompt + completion).toBeLessThanOrEqual(2000);
    // A contract that requires work with tools is not fulfilled by an answer, and says why.
    expect(result).toMatchObject({ result: expect.stringContaining("It is a port.") });
    if (result?.status === "failed") {
      expect(result.closeReason).toBe("budget_exhausted");
      expect(result.result).toMatch(
        /^Its contract requires work with tools, for which a budget of 2000/,
      );
    }
  },
);

test("A budget without room for a single answer is an error that says the least amount", async () => {
  const { model, seen } = recording(delegating("general", 300));
  const lead = testProfile("lead", { tools: ["delegate_task"], mayDelegate: { tools: "*" } });
  await using mandate = await openEngine({ model, profiles: [lead] });
  await mandate.run({ task: "Go", profile: "lead" });
  expect(seen.filter(({ caller }) => caller.depth === 1)).toEqual([]);
  const [said] = seen.at(-1)?.messages.slice(-1) ?? [];
  expect(said).toMatchObject({ isError: true });
  const [, least] =
    /too small for a single answer, which may take (\d+) tokens/.exec(said?.text ?? "") ?? [];
  const { model: second, seen: enough } = recording(delegating("general", Number(least)));
  await using again = await openEngine({ model: second, profiles: [lead] });
  await again.run({ task: "Go", profile: "lead" });
  expect(enough.filter(({ caller }) => caller.depth === 1)).toHaveLength(1);
});

test("An agent that had no room for its tools gets them when it is resumed with a larger budget", async () => {
  const { model, seen } = recording(() => "Done");
  const worker = testProfile("worker", {
    prompt: "You work.",
    tools: ["list_files", "read_file", "grep", "glob"],
    exit: { evidence: "tool_calls" },
  });
  await using mandate = await openEngine({ model, profiles: [worker], limits: { maxRetries: 0 } });
  const { workspace } = mandate;
  const first = await mandate.run({ task: "Look", profile: "worker", workspace, maxTokens: 1200 });
  expect(first.result).toMatchObject({ status: "failed", closeReason: "budget_exhausted" });
  expect(seen.map(({ tools }) => tools.length)).toEqual([0]);
  const again = await mandate.engine.resume(first.runId, undefined, { maxTokens: 50_000 });
  await again.result;
  expect(
    seen
      .at(-1)
      ?.tools.map(({ name }) => name)
      .sort(),
  ).toEqual([...(worker.tools ?? [])].sort());
  expect(seen.at(-1)?.system).toBe("You work.");
});
