import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { StoredEvent } from "../events/event.ts";
import type { Script } from "../models/scripted/scripted-model.ts";
import { ofType, openEngine, testProfile } from "../testing/engine-fixture.ts";
import { defineTool, type Tool } from "../tools/tool.ts";
import { attemptTime } from "./recovery/attempt-time.ts";

const profiles = [
  testProfile("worker", { tools: ["list_files", "linger", "ask_user"] }),
  testProfile("lead", {
    capabilities: ["orchestrator", "primary"],
    tools: ["delegate_task"],
    mayDelegate: { tools: ["list_files", "linger", "ask_user"] },
  }),
];

const config = { execution: { attemptTimeoutMs: 200, maxRetries: 1 } };

const planOf = (fields: object = {}) => ({
  task: JSON.stringify({
    steps: [{ id: "a", title: "A", description: "do a", profile: "worker", ...fields }],
  }),
  profile: "plan-runner",
});

/** Takes as long as the first attempt lasts, and does not listen when it is told to stop. */
function lingering(finished: string[]): Tool {
  return defineTool({
    name: "linger",
    description: "Takes its time.",
    effect: "exec",
    idempotent: false,
    scopes: [],
    input: z.object({}),
    async execute() {
      await delay(400);
      finished.push("linger");
      return "lingered";
    },
  });
}

const attemptsOf = (events: readonly StoredEvent[]) =>
  ofType(events, "agent.subagent_attempt").slice(1);

describe("the time of an attempt at a step", () => {
  it("ends it, and the next attempt has all of it again", async () => {
    const model: Script = ({ caller }) => ({
      text: `attempt ${caller.attempt}`,
      latency_ms: caller.attempt === 1 ? 20_000 : 100,
    });
    await using mandate = await openEngine({ profiles, model, config });
    const { events, result } = await mandate.run(planOf());
    expect(result.result).toMatch(/^Plan completed: all 1 steps\.[\s\S]*attempt 2/);
    expect(attemptsOf(events).map(({ payload }) => payload)).toEqual([
      { attempt: 1, of: 2 },
      { attempt: 2, of: 2 },
    ]);
    expect(ofType(events, "agent.retried")[0]?.payload).toEqual({
      what: "attempt",
      reason: "timeout: An attempt took longer than 200 ms.",
      delay_ms: 0,
    });
    const child = attemptsOf(events)[0]?.sub_agent_id ?? "";
    const { deadlines, execution } = await mandate.store.readContract(child);
    expect([execution.attempt_timeout_ms, deadlines.total]).toEqual([200, 300_000]);
  });

  it("fails the step when no attempt is in time, whatever is left of the whole", async () => {
    await using mandate = await openEngine({ profiles, model: () => ({ fault: "hang" }), config });
    const began = performance.now();
    const { events, result } = await mandate.run(planOf());
    expect(performance.now() - began).toBeLessThan(5000);
    expect(attemptsOf(events)).toHaveLength(2);
    expect(result).toMatchObject({ status: "failed", closeReason: "exit_rule_unmet" });
    expect(result.result).toContain("timeout: An attempt took longer than 200 ms.");
    expect(result.subDelegations).toMatchObject([{ status: "timeout", closeReason: "timeout" }]);
  });

  it("is what the step says, where it says something", async () => {
    const model: Script = () => ({ text: "done", latency_ms: 400 });
    await using mandate = await openEngine({ profiles, model, config });
    const { events, result } = await mandate.run(planOf({ attempt_timeout_ms: 60_000 }));
    expect(result.status).toBe("completed");
    expect(attemptsOf(events)).toHaveLength(1);
  });

  it("leaves a call that it cut with an unknown outcome, and its late result counts for nothing", async () => {
    const finished: string[] = [];
    const model: Script = ({ caller, messages }) => {
      if (caller.attempt > 1) return { text: `after ${messages.length} message`, latency_ms: 150 };
      return { calls: [{ tool: "linger", input: {} }] };
    };
    await using mandate = await openEngine({
      profiles,
      model,
      config: { execution: { attemptTimeoutMs: 300, maxRetries: 1 } },
      tools: [lingering(finished)],
    });
    const { events, result } = await mandate.run(planOf());
    expect(result.result).toContain("after 1 message");
    expect(finished).toEqual(["linger"]);
    expect(ofType(events, "agent.tool_outcome_unknown").map(({ payload }) => payload.tool)).toEqual(
      ["linger"],
    );
    const [done] = ofType(events, "agent.tool_completed");
    expect(done?.payload.tool).toBe("submit_plan");
  });

  it("does not pass while a person is asked", async () => {
    const model: Script = ({ caller, messages }) =>
      caller.turn === 1
        ? { calls: [{ tool: "ask_user", input: { message: "Shall I?" } }] }
        : (messages.at(-1)?.text ?? "");
    await using mandate = await openEngine({ profiles, model, config });
    mandate.store.subscribe((events) => {
      for (const event of events) {
        if (event.type !== "agent.asked") continue;
        setTimeout(() => void mandate.engine.answer(event.payload.ask_id, "Do."), 500);
      }
    });
    const { events, result } = await mandate.run(planOf());
    expect(result.status).toBe("completed");
    expect(attemptsOf(events)).toHaveLength(1);
  });

  it("is all of its time for whoever is no step of a plan", async () => {
    const model: Script = ({ caller }) =>
      caller.profile === "lead" && caller.turn === 1
        ? { calls: [{ tool: "delegate_task", input: { profile: "worker", task: "x" } }] }
        : { text: "done", latency_ms: caller.profile === "worker" ? 300 : 0 };
    await using mandate = await openEngine({ profiles, model, config });
    const { events, result } = await mandate.run({ task: "go", profile: "lead" });
    expect(result.status).toBe("completed");
    const child = attemptsOf(events)[0]?.sub_agent_id ?? "";
    const { deadlines, execution } = await mandate.store.readContract(child);
    expect(execution.attempt_timeout_ms).toBe(deadlines.total);
  });

  it("yields to whoever cancels at that moment", async () => {
    const model: Script = () => ({ fault: "hang" });
    for (const wait of [190, 200, 205]) {
      await using mandate = await openEngine({ profiles, model, config });
      const { result, runId } = await mandate.start(planOf());
      await delay(wait);
      expect(await mandate.engine.cancel(runId, "enough")).toBe("cancelled");
      expect((await result).status).toBe("cancelled");
    }
  });
});

const at = (at: number, type: string, payload: object = {}) =>
  ({ at, type, payload }) as unknown as StoredEvent;

it("what an attempt has used is known after a crash, without what it spent waiting", () => {
  const call = (id: string, tool: string) => ({ call_id: id, tool });
  const events = [
    at(0, "agent.subagent_created"),
    at(1000, "agent.subagent_started"),
    at(1000, "agent.subagent_attempt"),
    at(1500, "agent.model_turn"),
    at(2000, "agent.subagent_attempt"),
    at(2010, "agent.model_turn"),
    at(2010, "agent.tool_started", call("1", "waits")),
    at(9000, "agent.tool_completed", call("1", "waits")),
    at(9005, "agent.asked"),
    at(20_000, "agent.answered"),
    at(20_000, "agent.tool_started", call("2", "works")),
    at(20_000, "agent.tool_started", call("3", "waits")),
    at(20_100, "agent.model_turn"),
  ];
  expect(attemptTime(events, (tool) => tool === "waits")).toBe(115);
});
