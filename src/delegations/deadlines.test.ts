import { setTimeout as delay } from "node:timers/promises";
import { beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { noExposure } from "../contracts/exposure.ts";
import type { Script } from "../models/scripted/scripted-model.ts";
import { systemClock } from "../ports/clock.ts";
import type { Model } from "../ports/model.ts";
import { ofType, openEngine, type TestEngine, testProfile } from "../testing/engine-fixture.ts";
import { HeldClock } from "../testing/held-clock.test-support.ts";
import { until } from "../testing/until.ts";
import { defineTool } from "../tools/tool.ts";
import { callSlow, childThat, deadlines, profiles, slowTool } from "./deadlines.test-support.ts";
import { stopIdle } from "./engine.ts";

let clock = new HeldClock();
beforeEach(() => {
  clock = new HeldClock();
});

/** The request is silent for so long. */
const silentFor = (ms: number, fault: "hang" | "stall" | "stall-mid-stream" = "stall") => {
  clock.pass(ms);
  return { fault };
};

describe("the first-token deadline", () => {
  const limits = { deadlines: { ...deadlines, firstTokenMs: 20 } };

  it("ends a request that gets no answer; it is tried again, then it is a timeout", async () => {
    const { shown, requests, events } = await childThat(() => silentFor(25), "worker", {
      clock,
      limits,
    });
    expect(shown).toMatchObject({ status: "timeout", closeReason: "timeout" });
    expect(shown.result).toBe("The model gave no first token for 20 ms.");
    expect(requests).toHaveLength(2);
    expect(requests.every(({ signal }) => signal.aborted)).toBe(true);
    expect(ofType(events, "agent.retried")).toHaveLength(1);
  });

  it("ends it also when the model does not care about being aborted", async () => {
    const { shown } = await childThat(() => silentFor(25, "hang"), "worker", { clock, limits });
    expect(shown).toMatchObject({ status: "timeout", closeReason: "timeout" });
  });

  it("is met by the second try when that one answers", async () => {
    const script: Script = ({ caller }) => (caller.try === 1 ? silentFor(25) : "at last");
    const { shown } = await childThat(script, "worker", { clock, limits });
    expect(shown).toMatchObject({ status: "completed", result: "at last" });
  });
});

describe("the stall deadline", () => {
  it("ends a request that stops in the middle", async () => {
    const limits = { deadlines: { ...deadlines, stallMs: 20 } };
    const stalls: Script = ({ signal }) => {
      // After its beginning has arrived, and not before the next look.
      queueMicrotask(() => signal.aborted || clock.pass(25));
      return { fault: "stall-mid-stream", text: "half of it" };
    };
    const { shown } = await childThat(stalls, "worker", { clock, limits });
    expect(shown).toMatchObject({ status: "timeout", closeReason: "timeout" });
    expect(shown.result).toBe("The model gave no further token for 20 ms.");
  });

  it("leaves a slow but steady answer alone", async () => {
    const limits = { deadlines: { ...deadlines, stallMs: 40, firstTokenMs: 40 } };
    const steady: Model = async ({ model }, onPart) => {
      for (const text of ["one ", "two ", "three"]) {
        clock.pass(30);
        // The agent's timer has looked at it by then.
        await delay(45);
        onPart({ type: "text", text });
      }
      const usage = { prompt: 1, completion: 1 };
      return { text: "one two three", calls: [], finish: "stop", usage, served: model };
    };
    const { shown } = await childThat(() => "unused", "steady", {
      clock,
      limits,
      profiles: [...profiles, testProfile("steady", { tools: [], model: { model: "own/steady" } })],
      models: { "own/steady": steady },
    });
    expect(shown).toMatchObject({ status: "completed", result: "one two three" });
  });
});

describe("the tool deadline", () => {
  it("ends a call that takes too long: the model is told, the tool is told, work goes on", async () => {
    const limits = { deadlines: { ...deadlines, toolMs: 20 } };
    const { state, tool } = slowTool();
    const script: Script = ({ caller, messages }) =>
      caller.turn === 1 ? callSlow({ listens: true }) : (messages.at(-1)?.text ?? "");
    const { shown, events } = await childThat(script, "worker", { limits, tools: [tool] });
    expect(shown).toMatchObject({
      status: "completed",
      result: "Error: slow took longer than 20 ms and was stopped.",
    });
    expect(state.aborted).toBe(1);
    expect(ofType(events, "agent.tool_failed")).toHaveLength(1);
  });

  it("does not wait for a tool that ignores it, and its late result changes nothing", async () => {
    const limits = { deadlines: { ...deadlines, toolMs: 10 } };
    const { state, tool } = slowTool();
    const script: Script = async ({ caller }) => {
      if (caller.turn === 1) return callSlow();
      state.finish();
      await until("the late result", () => state.finished > 0);
      return "done";
    };
    const { events } = await childThat(script, "worker", { limits, tools: [tool] });
    expect(state.finished).toBe(1);
    const ends = events.filter(
      ({ type }) => type === "agent.tool_completed" || type === "agent.tool_failed",
    );
    expect(ends.map(({ payload }) => (payload as { tool: string }).tool)).toEqual([
      "slow",
      "delegate_task",
    ]);
    expect(ends[0]?.type).toBe("agent.tool_failed");
  });

  it("does not apply to waiting for children", async () => {
    const limits = { deadlines: { ...deadlines, toolMs: 10 } };
    // Its caller's call began before its own one, which ends by the same deadline.
    const script: Script = ({ caller }) => (caller.turn === 1 ? callSlow({ listens: true }) : "ok");
    const { shown, events } = await childThat(script, "worker", { limits });
    expect(shown.status).toBe("completed");
    const failed = ofType(events, "agent.tool_failed").map(({ payload }) => payload.tool);
    expect(failed).toEqual(["slow"]);
  });
});

describe("the idle deadline", () => {
  it("ends a delegation in which nothing happens", async () => {
    const limits = { deadlines: { ...deadlines, idleMs: 50 } };
    const { state, tool } = slowTool();
    state.began = () => clock.pass(60);
    const script: Script = () => callSlow({ listens: true });
    const { shown } = await childThat(script, "worker", { clock, limits, tools: [tool] });
    expect(shown).toMatchObject({ status: "timeout", closeReason: "timeout" });
    expect(shown.result).toBe("Nothing happened for 50 ms.");
  });

  it("leaves one alone that waits for a child", async () => {
    const limits = { deadlines: { ...deadlines, idleMs: 200 } };
    const engines: TestEngine[] = [];
    const look = defineTool({
      name: "look",
      description: "Has the engine look for those that are idle.",
      effect: "read",
      exposure: noExposure,
      idempotent: true,
      scopes: [],
      input: z.strictObject({ n: z.int() }),
      execute() {
        for (const { engine } of engines) stopIdle(engine.liveRuns, clock.monotonic());
        return "looked";
      },
    });
    await using mandate = await openEngine({
      clock,
      limits,
      tools: [look],
      profiles: [
        testProfile("lead", { tools: ["delegate_task"], mayDelegate: { tools: ["look"] } }),
        testProfile("worker", { tools: ["look"] }),
      ],
      model({ caller }) {
        if (caller.depth === 0 && caller.turn > 1) return "noted";
        if (caller.depth === 0) {
          return { calls: [{ tool: "delegate_task", input: { profile: "worker", task: "work" } }] };
        }
        if (caller.turn > 10) return "done";
        clock.pass(50);
        return { calls: [{ tool: "look", input: { n: caller.turn } }] };
      },
    });
    engines.push(mandate);
    const { result } = await mandate.run({ task: "go", profile: "lead" });
    expect(result).toMatchObject({
      status: "completed",
      subDelegations: [{ status: "completed" }],
    });
  });
});

describe("fault 14: the total deadline", () => {
  it("ends a child whose model never answers, within its time", async () => {
    const { shown, events } = await childThat(() => silentFor(50, "hang"), "brief", { clock });
    expect(shown).toMatchObject({
      status: "timeout",
      closeReason: "timeout",
      result: "It took longer than 40 ms.",
    });
    const id = shown.delegationId;
    expect(ofType(events, "agent.subagent_failed", id)[0]?.payload.code).toBe("timeout");
    expect(ofType(events, "agent.subagent_closed", id)[0]?.payload).toMatchObject({
      final_status: "failed",
      close_reason: "timeout",
    });
  });

  it("ends a child whose tool ignores its signal, and says that the outcome is unknown", async () => {
    const { state, tool } = slowTool();
    state.began = () => clock.pass(50);
    const options = { clock, tools: [tool] };
    const { shown, events } = await childThat(() => callSlow(), "brief", options);
    expect(shown).toMatchObject({ status: "timeout", closeReason: "timeout" });
    expect([state.aborted, state.finished]).toEqual([1, 0]);
    expect(ofType(events, "agent.tool_outcome_unknown", shown.delegationId)).toHaveLength(1);
  });

  it("ends a child whose tool blocked the event loop, as soon as that lets go", async () => {
    const { state, tool } = slowTool();
    state.began = () => {
      for (const end = systemClock.monotonic() + 50; systemClock.monotonic() < end; );
      state.finish();
    };
    const script: Script = ({ caller }) => (caller.turn === 1 ? callSlow() : "made it");
    const { shown } = await childThat(script, "brief", { tools: [tool] });
    expect(shown).toMatchObject({ status: "timeout", closeReason: "timeout" });
  });

  it("notes a result that comes too late as an event of the run", async () => {
    const { state, tool } = slowTool();
    state.began = () => clock.pass(50);
    const script: Script = async ({ caller }) => {
      if (caller.depth > 0) return callSlow();
      if (caller.turn === 1) {
        return { calls: [{ tool: "delegate_task", input: { profile: "brief", task: "work" } }] };
      }
      state.finish();
      await until("the late result", () => state.finished > 0);
      return "noted";
    };
    await using mandate = await openEngine({ clock, profiles, tools: [tool], model: script });
    const { events } = await mandate.run({ task: "go", profile: "lead" });
    expect(ofType(events, "run.late_result")).toHaveLength(1);
  });

  it("counts over all attempts together", async () => {
    const limits = { maxRetries: 50, backoffMs: 5 };
    const empty: Script = () => {
      clock.pass(4);
      return { fault: "empty" };
    };
    const { shown } = await childThat(empty, "brief", { clock, limits });
    expect(shown).toMatchObject({ status: "timeout", closeReason: "timeout" });
  });

  it("is never longer than what the caller has left", async () => {
    const input = { profile: "worker", task: "x", timeout: 60_000 };
    await using mandate = await openEngine({
      clock,
      profiles,
      tools: [slowTool().tool],
      model({ caller }) {
        clock.pass(caller.depth === 0 ? 20 : 60);
        return caller.depth === 0
          ? { calls: [{ tool: "delegate_task", input }] }
          : { fault: "hang" };
      },
    });
    const { result } = await mandate.run({ task: "go", profile: "lead", timeoutMs: 60 });
    expect(result).toMatchObject({ status: "timeout", closeReason: "timeout" });
    const [child] = result.subDelegations ?? [];
    expect(child?.status).not.toBe("completed");
    const { deadlines: granted } = await mandate.store.readContract(child?.delegationId ?? "");
    expect(granted.total).toBe(40);
  });

  it("does not run while a child waits for a slot", async () => {
    const input = { profile: "worker", task: "x", timeout: 300 };
    await using mandate = await openEngine({
      clock,
      profiles,
      tools: [slowTool().tool],
      maxConcurrent: 1,
      model: ({ caller }) => {
        if (caller.depth > 0) {
          clock.pass(100);
          return "ok";
        }
        const calls = Array.from({ length: 4 }, () => ({ tool: "delegate_task", input }));
        return caller.turn === 1 ? { calls } : "done";
      },
    });
    const { result } = await mandate.run({ task: "go", profile: "lead" });
    expect(result.duration).toBe(400);
    expect(result.subDelegations?.map(({ status }) => status)).toEqual(Array(4).fill("completed"));
  });
});
