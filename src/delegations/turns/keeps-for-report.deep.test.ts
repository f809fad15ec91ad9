/** What a parent keeps for its report, across a crash after each of its commits. */
import { expect, it, vi } from "vitest";
import { type Script, scriptedModel } from "../../models/scripted/scripted-model.ts";
import { crashPoints } from "../../testing/crash-points.ts";
import { ofType, testProfile } from "../../testing/engine-fixture.ts";

// A database for each moment at which a process can die.
vi.setConfig({ testTimeout: 240_000 });

const profiles = [
  testProfile("lead", { tools: ["delegate_task"], mayDelegate: { tools: ["list_files"] } }),
  testProfile("worker", { tools: ["list_files"] }),
];

/** Three children use all that they are allowed to; the parent reads what they found. */
const script: Script = ({ caller, maxOutputTokens, tools }) => {
  const latency_ms = 1 + caller.depth;
  if (caller.depth > 0) {
    const usage = { prompt: 2000 + 1000 * caller.turn, completion: maxOutputTokens };
    if (tools.length === 0) return { latency_ms, text: "the best so far", usage };
    const calls = [{ tool: "list_files", input: { limit: caller.turn } }];
    return { latency_ms, text: `step ${caller.turn}`, calls, usage };
  }
  if (caller.turn > 1) return { latency_ms, text: "the parent's own answer" };
  const calls = [1, 2, 3].map((index) => ({
    tool: "delegate_task",
    input: { profile: "worker", task: `part ${index}`, maxTokens: 40_000 },
  }));
  return { latency_ms, calls };
};

it("a parent whose children use up all they can answers, whichever of its commits was the last before a crash", async () => {
  const { undisturbed, points } = await crashPoints(
    {
      profiles,
      scripted: scriptedModel(script),
      synchronous: "normal",
      limits: { maxRetries: 0, maxOutputTokens: 4000, backoffMs: 1 },
    },
    { task: "go", profile: "lead", maxTokens: 60_000, budgetTokens: 60_000 },
  );
  expect(undisturbed.result).toBe("the parent's own answer");
  const written = points.flatMap(({ after }) => after);
  expect(ofType(written, "agent.subagent_closed")).toHaveLength(4);
  for (const { after, result, violations } of points) {
    const where = `after ${after.map(({ type }) => type).join(", ")}`;
    expect(violations, where).toEqual([]);
    expect([result?.status, result?.result], where).toEqual([
      "completed",
      "the parent's own answer",
    ]);
  }
});
