import { beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { noExposure } from "../contracts/exposure.ts";
import type { StoredEvent } from "../events/event.ts";
import type { Script } from "../models/scripted/scripted-model.ts";
import { ofType, openEngine, type TestEngine, testProfile } from "../testing/engine-fixture.ts";
import { HeldClock } from "../testing/held-clock.test-support.ts";
import { until } from "../testing/until.ts";
import { defineTool, type Tool } from "../tools/tool.ts";
import { LoggedTime } from "./recovery/logged-time.ts";

const profiles = [
  testProfile("worker", { tools: ["list_files", "linger", "ask_user"] }),
  testProfile("lead", {
    capabilities: ["orchestrator", "primary"],
    tools: ["delegate_task"],
    mayDelegate: { tools: ["list_files", "linger", "ask_user"] },
  }),
];

let clock = new HeldClock();
beforeEach(() => {
  clock = new HeldClock();
});

const config = { execution: { attemptTimeoutMs: 200, maxRetries: 1 } };

const planOf = (fields: object = {}) => ({
  task: JSON.stringify({
    steps: [{ id: "a", title: "A", description: "do a", profile: "worker", ...fields }],
  }),
  profile: "plan-runner",
});

/** Takes longer than an attempt may, and does not listen when it is told to stop. */
function lingering(mayFinish: Promise<void>, finished: string[]): Tool {
  return defineTool({
    name: "linger",
    description: "Takes its time.",
    effect: "exec",
    exposure: noExposure,
    idempotent: false,
    scopes: [],
    input: z.object({}),
    async execute() {
      clock.pass(400);
      await mayFinish;
      finished.push("linger");
      return "lingered";
    },
  });
}

/** The model asks a person; so much time passes before the answer. */
const asking = { calls: [{ tool: "ask_user", input: { message: "Shall I?" } }] };

function answerAfter(mandate: TestEngine, ms: number): void {
  mandate.store.subscribe(async (events) => {
    for (const event of events) {
      if (event.type !== "agent.asked") continue;
      await until("nobody is at work", () => mandate.parts.scheduler.running === 0);
      clock.pass(ms);
      await mandate.engine.answer(event.payload.ask_id, "Do.");
    }
  });
}

const attemptsOf = (events: readonly StoredEvent[]) =>
  ofType(events, "agent.subagent_attempt").slice(1);

describe("the time of an attempt at a step", () => {
  it("ends it, and the next attempt has all of it again", async () => {
    const model: Script = ({ caller }) => {
      clock.pass(caller.attempt === 1 ? 250 : 150);
      return caller.attempt === 1 ? { fault: "stall" } : `attempt ${caller.attempt}`;
    };
    await using mandate = await openEngine({ clock, profiles, model, config });
    const { events, result } = await mandate.run(planOf());
    expect(result.result).toMatch(/^Plan completed: all 1 steps\.[\s\S]*attempt 2/);
    expect(attemptsOf(events).map(({ payload }) => payload)).toEqual([
      { attempt: 1, of: 2 },
      { attempt: 2, of: 2 },
    ]);
    expect(ofType(events, "agent.retried")[0]?.payload).toEqual({
      what: "attempt",
      cause: { code: "attempt_deadline", ms: 200 },
      reason: "timed out: An attempt took longer than 200 ms.",
      delay_ms: 0,
    });
    const child = attemptsOf(events)[0]?.sub_agent_id ?? "";
    const { deadlines, execution } = await mandate.store.readContract(child);
    expect([execution.attempt_timeout_ms, deadlines.total]).toEqual([200, 300_000]);
  });

  it("fails the step when no attempt is in time, whatever is left of the whole", async () => {
    const model: Script = () => {
      clock.pass(250);
      return { fault: "hang" };
    };
    await using mandate = await openEngine({ clock, profiles, model, config });
    const { events, result } = await mandate.run(planOf());
    expect(attemptsOf(events)).toHaveLength(2);
    expect(result).toMatchObject({ status: "failed", closeReason: "exit_rule_unmet" });
    expect(result.result).toContain("timeout: An attempt took longer than 200 ms.");
    expect(result.subDelegations).toMatchObject([{ status: "timeout", closeReason: "timeout" }]);
  });

  it("is what the step says, where it says something", async () => {
    const model: Script = ({ caller }) => {
      clock.pass(400);
      // Whoever comes back from a question is looked at again.
      return caller.turn === 1 ? asking : "done";
    };
    await using mandate = await openEngine({ clock, profiles, model, config });
    answerAfter(mandate, 0);
    const { events, result } = await mandate.run(planOf({ attempt_timeout_ms: 60_000 }));
    expect(result.status).toBe("completed");
    expect(attemptsOf(events)).toHaveLength(1);
  });

  it("leaves a call that it cut with an unknown outcome, and its late result counts for nothing", async () => {
    const finished: string[] = [];
    const mayFinish = Promise.withResolvers<void>();
    const model: Script = async ({ caller, messages }) => {
      if (caller.attempt === 1) return { calls: [{ tool: "linger", input: {} }] };
      mayFinish.resolve();
      await until("the late result", () => finished.length > 0);
      return `after ${messages.length} message`;
    };
    const tools = [lingering(mayFinish.promise, finished)];
    await using mandate = await openEngine({ clock, profiles, model, config, tools });
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
      caller.turn === 1 ? asking : (messages.at(-1)?.text ?? "");
    await using mandate = await openEngine({ clock, profiles, model, config });
    answerAfter(mandate, 500);
    const { events, result } = await mandate.run(planOf());
    expect(result.status).toBe("completed");
    expect(attemptsOf(events)).toHaveLength(1);
  });

  it("is all of its time for whoever is no step of a plan", async () => {
    const model: Script = ({ caller }) => {
      if (caller.turn > 1) return "done";
      if (caller.profile === "lead") {
        return { calls: [{ tool: "delegate_task", input: { profile: "worker", task: "x" } }] };
      }
      clock.pass(300);
      return asking;
    };
    await using mandate = await openEngine({ clock, profiles, model, config });
    answerAfter(mandate, 0);
    const { events, result } = await mandate.run({ task: "go", profile: "lead" });
    expect(result.status).toBe("completed");
    const child = attemptsOf(events)[0]?.sub_agent_id ?? "";
    const { deadlines, execution } = await mandate.store.readContract(child);
    expect(execution.attempt_timeout_ms).toBe(deadlines.total);
  });

  it("yields to whoever cancels at that moment", async () => {
    // Before it is over, when it is over, and at what is written after that.
    for (const moment of ["before", "over", "agent.retried", "agent.budget_reserved"]) {
      const asked = Promise.withResolvers<void>();
      const model: Script = () => {
        asked.resolve();
        return { fault: "hang" };
      };
      await using mandate = await openEngine({ clock, profiles, model, config });
      const { result, runId } = await mandate.start(planOf());
      await asked.promise;
      const written = Promise.withResolvers<void>();
      mandate.store.subscribe((events) => {
        if (events.some(({ type }) => type === moment)) written.resolve();
      });
      if (moment !== "before") clock.pass(250);
      if (moment.startsWith("agent.")) await written.promise;
      expect(await mandate.engine.cancel(runId, "enough")).toBe("cancelled");
      expect((await result).status).toBe("cancelled");
    }
  });
});

const at = (at: number, type: string, payload: object = {}) =>
  ({ at, type, payload, sub_agent_id: "child" }) as unknown as StoredEvent;

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
    at(9005, "agent.asked", { ask_id: "a" }),
    at(20_000, "agent.answered", { ask_id: "a" }),
    at(20_000, "agent.tool_started", call("2", "works")),
    at(20_000, "agent.tool_started", call("3", "waits")),
    at(20_100, "agent.model_turn"),
  ];
  const time = new LoggedTime({
    longest: () => Number.POSITIVE_INFINITY,
    isWaiting: (tool) => tool === "waits",
  });
  for (const event of events) time.see(event);
  expect(time.of("child").attemptMs).toBe(115);
});
