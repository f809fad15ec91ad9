import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { Script } from "../models/scripted/scripted-model.ts";
import {
  type EngineOptions,
  ofType,
  openEngine,
  recording,
  testProfile,
} from "../testing/engine-fixture.ts";
import { defineTool } from "../tools/tool.ts";
import type { EngineLimits } from "./engine-parts.ts";

const deadlines: EngineLimits["deadlines"] = {
  firstTokenMs: 10_000,
  stallMs: 10_000,
  toolMs: 10_000,
  idleMs: 10_000,
};

const profiles = [
  testProfile("lead", {
    tools: ["delegate_task", "spawn"],
    mayDelegate: { tools: ["delegate_task", "slow"] },
  }),
  testProfile("worker", { tools: ["slow"] }),
  testProfile("brief", { tools: ["slow"], limits: { timeoutMs: 40 } }),
];

let aborted = 0;
let finished = 0;
/** Takes its time, and does not look at the signal unless it is told to. */
const slow = defineTool({
  name: "slow",
  description: "Is slow.",
  effect: "exec",
  idempotent: false,
  scopes: [],
  input: z.strictObject({
    ms: z.int(),
    polite: z.boolean().default(false),
    blocks: z.boolean().default(false),
  }),
  async execute({ ms, polite, blocks }, { signal }) {
    signal.addEventListener("abort", () => {
      aborted += 1;
    });
    if (blocks) for (const end = performance.now() + ms; performance.now() < end; );
    else await delay(ms, undefined, polite ? { signal } : {});
    finished += 1;
    return "took its time";
  },
});

/** A lead with a child of this profile; what the child does is given. */
async function childThat(child: Script, profile = "worker", options: EngineOptions = {}) {
  aborted = 0;
  finished = 0;
  const { seen, model } = recording((request) => {
    const { caller } = request;
    if (caller.depth > 0) return child(request);
    if (caller.turn > 1) return "noted";
    return { calls: [{ tool: "delegate_task", input: { profile, task: "work" } }] };
  });
  await using mandate = await openEngine({
    profiles,
    tools: [slow],
    model,
    ...options,
    limits: { maxRetries: 0, requestTries: 2, deadlines, ...options.limits },
  });
  const began = performance.now();
  const { result, events } = await mandate.run({ task: "go", profile: "lead" });
  const took = performance.now() - began;
  const shown = JSON.parse(
    seen
      .filter(({ caller }) => caller.depth === 0)
      .at(-1)
      ?.messages.at(-1)?.text ?? "{}",
  );
  return { shown, events, took, requests: seen.filter(({ caller }) => caller.depth > 0), result };
}

describe("the first-token deadline", () => {
  it("ends a request that gets no answer; it is tried again, then it is a timeout", async () => {
    const limits = { deadlines: { ...deadlines, firstTokenMs: 20 } };
    const { shown, requests, took, events } = await childThat(
      () => ({ fault: "stall" }),
      "worker",
      { limits },
    );
    expect(shown).toMatchObject({ status: "timeout", closeReason: "timeout" });
    expect(shown.result).toBe("The model gave no first token for 20 ms.");
    expect(requests).toHaveLength(2);
    expect(requests.every(({ signal }) => signal.aborted)).toBe(true);
    expect(took).toBeLessThan(1000);
    expect(ofType(events, "agent.retried")).toHaveLength(1);
  });

  it("ends it also when the model does not care about being aborted", async () => {
    const limits = { deadlines: { ...deadlines, firstTokenMs: 20 } };
    const { shown } = await childThat(() => ({ fault: "hang" }), "worker", { limits });
    expect(shown).toMatchObject({ status: "timeout", closeReason: "timeout" });
  });

  it("is met by the second try when that one answers", async () => {
    const limits = { deadlines: { ...deadlines, firstTokenMs: 20 } };
    const script: Script = ({ caller }) => (caller.try === 1 ? { fault: "stall" } : "at last");
    const { shown } = await childThat(script, "worker", { limits });
    expect(shown).toMatchObject({ status: "completed", result: "at last" });
  });
});

describe("the stall deadline", () => {
  it("ends a request that stops in the middle", async () => {
    const limits = { deadlines: { ...deadlines, stallMs: 20 } };
    const stalls = () => ({ fault: "stall-mid-stream" as const, text: "half of it" });
    const { shown } = await childThat(stalls, "worker", { limits });
    expect(shown).toMatchObject({ status: "timeout", closeReason: "timeout" });
    expect(shown.result).toBe("The model gave no further token for 20 ms.");
  });

  it("leaves a slow but steady answer alone", async () => {
    const limits = { deadlines: { ...deadlines, stallMs: 40, firstTokenMs: 40 } };
    const steady = () => ({ text: "word ".repeat(20), chunks: 20, latency_ms: 160 });
    const { shown } = await childThat(steady, "worker", { limits });
    expect(shown.status).toBe("completed");
  });
});

describe("the tool deadline", () => {
  it("ends a call that takes too long: the model is told, the tool is told, work goes on", async () => {
    const limits = { deadlines: { ...deadlines, toolMs: 20 } };
    const script: Script = ({ caller, messages }) =>
      caller.turn === 1
        ? { calls: [{ tool: "slow", input: { ms: 5000, polite: true } }] }
        : (messages.at(-1)?.text ?? "");
    const { shown, took, events } = await childThat(script, "worker", { limits });
    expect(shown).toMatchObject({
      status: "completed",
      result: "Error: slow took longer than 20 ms and was stopped.",
    });
    expect(aborted).toBe(1);
    expect(took).toBeLessThan(1000);
    expect(ofType(events, "agent.tool_failed")).toHaveLength(1);
  });

  it("does not wait for a tool that ignores it, and its late result changes nothing", async () => {
    const limits = { deadlines: { ...deadlines, toolMs: 10 } };
    const script: Script = ({ caller }) =>
      caller.turn === 1
        ? { calls: [{ tool: "slow", input: { ms: 60 } }] }
        : { text: "done", latency_ms: 80 };
    const { events } = await childThat(script, "worker", { limits });
    expect(finished).toBe(1);
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
    const { shown } = await childThat(() => ({ text: "ok", latency_ms: 60 }), "worker", { limits });
    expect(shown.status).toBe("completed");
  });
});

describe("the idle deadline", () => {
  it("ends a delegation in which nothing happens", async () => {
    const limits = { deadlines: { ...deadlines, idleMs: 50 } };
    const script: Script = () => ({ calls: [{ tool: "slow", input: { ms: 4000, polite: true } }] });
    const { shown, took } = await childThat(script, "worker", { limits });
    expect(shown).toMatchObject({ status: "timeout", closeReason: "timeout" });
    expect(shown.result).toBe("Nothing happened for 50 ms.");
    expect(took).toBeLessThan(3000);
  });

  it("leaves one alone that waits for a child", async () => {
    const limits = { deadlines: { ...deadlines, idleMs: 200 } };
    const steady = () => ({ text: "word ".repeat(30), chunks: 30, latency_ms: 1500 });
    const { shown, result } = await childThat(steady, "worker", { limits });
    expect(shown.status).toBe("completed");
    expect(result.status).toBe("completed");
  });
});

describe("fault 14: the total deadline", () => {
  it("ends a child whose model never answers, within its time", async () => {
    const { shown, took, events } = await childThat(() => ({ fault: "hang" }), "brief");
    expect(shown).toMatchObject({
      status: "timeout",
      closeReason: "timeout",
      result: "It took longer than 40 ms.",
    });
    expect(took).toBeLessThan(1000);
    const id = shown.delegationId;
    expect(ofType(events, "agent.subagent_failed", id)[0]?.payload.code).toBe("timeout");
    expect(ofType(events, "agent.subagent_closed", id)[0]?.payload).toMatchObject({
      final_status: "failed",
      close_reason: "timeout",
    });
  });

  it("ends a child whose tool ignores its signal, and says that the outcome is unknown", async () => {
    const script: Script = () => ({ calls: [{ tool: "slow", input: { ms: 300 } }] });
    const { shown, took, events } = await childThat(script, "brief");
    expect(shown).toMatchObject({ status: "timeout", closeReason: "timeout" });
    expect(took).toBeLessThan(250);
    expect(aborted).toBe(1);
    expect(ofType(events, "agent.tool_outcome_unknown", shown.delegationId)).toHaveLength(1);
  });

  it("ends a child whose tool blocked the event loop, as soon as that lets go", async () => {
    const script: Script = ({ caller }) =>
      caller.turn === 1
        ? { calls: [{ tool: "slow", input: { ms: 120, blocks: true } }] }
        : "made it";
    const { shown } = await childThat(script, "brief");
    expect(shown).toMatchObject({ status: "timeout", closeReason: "timeout" });
  });

  // Nothing writes run.late_result: perform-calls.ts, Subject.record throws once it is stopped.
  it("notes a result that comes too late as an event of the run", async () => {
    const script: Script = ({ caller }) => {
      if (caller.depth > 0) return { calls: [{ tool: "slow", input: { ms: 80 } }] };
      if (caller.turn > 1) return { text: "noted", latency_ms: 150 };
      return { calls: [{ tool: "delegate_task", input: { profile: "brief", task: "work" } }] };
    };
    await using mandate = await openEngine({ profiles, tools: [slow], model: script });
    const { events } = await mandate.run({ task: "go", profile: "lead" });
    expect(ofType(events, "run.late_result")).toHaveLength(1);
  });

  it("counts over all attempts together", async () => {
    const limits = { maxRetries: 50, backoffMs: 5 };
    const { shown } = await childThat(() => ({ fault: "empty", latency_ms: 4 }), "brief", {
      limits,
    });
    expect(shown).toMatchObject({ status: "timeout", closeReason: "timeout" });
  });

  it("is never longer than what the caller has left", async () => {
    const input = { profile: "worker", task: "x", timeout: 60_000 };
    await using mandate = await openEngine({
      profiles,
      tools: [slow],
      model: ({ caller }) =>
        caller.depth === 0 ? { calls: [{ tool: "delegate_task", input }] } : { fault: "hang" },
    });
    const { result } = await mandate.run({ task: "go", profile: "lead", timeoutMs: 60 });
    expect(result).toMatchObject({ status: "timeout", closeReason: "timeout" });
    const [child] = result.subDelegations ?? [];
    expect(child?.status).not.toBe("completed");
    const { deadlines: granted } = await mandate.store.readContract(child?.delegationId ?? "");
    expect(granted.total).toBeLessThanOrEqual(60);
  });

  it("does not run while a child waits for a slot", async () => {
    const input = { profile: "worker", task: "x", timeout: 300 };
    await using mandate = await openEngine({
      profiles,
      tools: [slow],
      maxConcurrent: 1,
      model: ({ caller }) => {
        if (caller.depth > 0) return { text: "ok", latency_ms: 100 };
        const calls = Array.from({ length: 4 }, () => ({ tool: "delegate_task", input }));
        return caller.turn === 1 ? { calls } : "done";
      },
    });
    const { result } = await mandate.run({ task: "go", profile: "lead" });
    expect(result.duration).toBeGreaterThan(300);
    expect(result.subDelegations?.map(({ status }) => status)).toEqual(Array(4).fill("completed"));
  });
});
