import { describe, expect, it } from "vitest";
import type { Script } from "../models/scripted/scripted-model.ts";
import { isDistributed, isOnPostgres } from "../testing/alter-database.test-support.ts";
import { ofType, openEngine, recording, testProfile } from "../testing/engine-fixture.ts";
import { until } from "../testing/until.ts";

const tools = ["spawn", "spawn_await", "cancel_delegation", "get_delegation_result"];
const profiles = [
  testProfile("lead", { tools, mayDelegate: { tools: ["read_file", ...tools] } }),
  testProfile("worker", { tools: ["read_file"] }),
];

const spawn = { tool: "spawn", input: { task: "look into it", profile: "worker" } };

/** A lead that answers while its child works; the child ends when it is released. */
function scene(work: () => ReturnType<Script> = () => "found it") {
  const child = Promise.withResolvers<void>();
  const model: Script = async (request) => {
    if (request.caller.depth > 0) {
      await child.promise;
      return work();
    }
    return request.caller.turn === 1 ? { calls: [spawn] } : "I started it.";
  };
  return { ...recording(model), release: child.resolve };
}

const request = { task: "go", profile: "lead" } as const;

describe("a background child", () => {
  it("outlives its caller's answer, which is delivered at once", async () => {
    const { model, release } = scene();
    await using mandate = await openEngine({ profiles, model });
    const started = await mandate.engine.startRun(request);
    expect(await started.answer).toMatchObject({ status: "completed", result: "I started it." });
    const state = await mandate.store.readRun(started.runId);
    const [root, child] = [...(state?.delegations.values() ?? [])];
    expect(state?.outcome).toBeNull();
    expect(root).toMatchObject({ status: "waiting_for_merge", output: { running: [child?.id] } });
    release();
    expect(await started.result).toMatchObject({
      ...{ status: "completed", result: "I started it.", outcome: "succeeded" },
      subDelegations: [{ status: "completed", result: "found it" }],
    });
  });

  it("is named to its caller once, before the first final answer", async () => {
    const { model, release, seen } = scene();
    await using mandate = await openEngine({ profiles, model });
    const started = await mandate.engine.startRun(request);
    await started.answer;
    release();
    await started.result;
    const own = seen.filter(({ caller }) => caller.depth === 0);
    expect(own).toHaveLength(3);
    const events = await mandate.events(started.runId);
    const [told, ...more] = ofType(events, "agent.interjected", started.delegationId);
    expect(more).toEqual([]);
    const [, child] = ofType(events, "agent.subagent_created");
    expect(told?.payload).toMatchObject({
      ...{ from: "background", cause: { code: "children_running" } },
      message: expect.stringContaining(`${child?.sub_agent_id} (worker: look into it)`),
    });
  });

  it("that fails after the answer keeps the run from succeeding", async () => {
    const { model, release } = scene(() => ({ fault: "unauthorized" }));
    await using mandate = await openEngine({ profiles, model });
    const started = await mandate.engine.startRun(request);
    expect(await started.answer).toMatchObject({ status: "completed" });
    release();
    expect(await started.result).toMatchObject({ status: "completed", outcome: "failed" });
  });

  it("that a person cancels after the answer is no failure of the run", async () => {
    const { model } = scene();
    await using mandate = await openEngine({ profiles, model });
    const started = await mandate.engine.startRun(request);
    await started.answer;
    const state = await mandate.store.readRun(started.runId);
    const [, child] = [...(state?.delegations.keys() ?? [])];
    expect(await mandate.engine.cancel(child ?? "", "not needed")).toBe("cancelled");
    expect(await started.result).toMatchObject({ status: "completed", outcome: "succeeded" });
  });

  it("delays the result of a caller that is a child itself", async () => {
    const inner = Promise.withResolvers<void>();
    const nested = [
      testProfile("boss", { tools: ["delegate_task"], mayDelegate: { tools: "*" } }),
      ...profiles,
    ];
    const model: Script = async ({ caller, messages }) => {
      if (caller.depth === 0) {
        if (caller.turn > 1) return `told: ${messages.at(-1)?.text}`;
        return { calls: [{ tool: "delegate_task", input: { profile: "lead", task: "lead it" } }] };
      }
      if (caller.profile === "worker") {
        await inner.promise;
        return "found it";
      }
      return caller.turn === 1 ? { calls: [spawn] } : "I started it.";
    };
    await using mandate = await openEngine({ profiles: nested, model });
    const started = await mandate.engine.startRun({ task: "go", profile: "boss" });
    const lead = await until("the child has answered", async () => {
      const state = await mandate.store.readRun(started.runId);
      const all = [...(state?.delegations.values() ?? [])];
      return all.find(({ profile, status }) => {
        return profile === "lead" && (isDistributed || status === "waiting_for_merge");
      });
    });
    expect(lead.parentId).toBe(started.delegationId);
    inner.resolve();
    const result = await started.result;
    expect(result).toMatchObject({ status: "completed", outcome: "succeeded" });
    expect(result.result).toContain("I started it.");
  });

  it("ends with its run, when that is cancelled", async () => {
    const { model } = scene();
    await using mandate = await openEngine({ profiles, model });
    const started = await mandate.engine.startRun(request);
    await started.answer;
    expect(await mandate.engine.cancel(started.runId, "enough")).toBe("cancelled");
    expect(await started.result).toMatchObject({
      ...{ status: "cancelled", outcome: "cancelled" },
      subDelegations: [{ status: "cancelled" }],
    });
  });
});

describe.skipIf(isDistributed)("an interrupt after the answer", () => {
  const each = (onParentInterrupt: "cancel" | "pause" | "continue") => [
    ...profiles.filter(({ name }) => name === "lead"),
    testProfile("worker", { tools: ["read_file"], onParentInterrupt }),
  ];

  it("cancels a child whose contract says so, and the run has its answer", async () => {
    const { model } = scene();
    await using mandate = await openEngine({ profiles: each("cancel"), model });
    const started = await mandate.engine.startRun(request);
    await started.answer;
    const { outcome } = await mandate.engine.interrupt(started.runId, "stop");
    expect(outcome).toBe("cancelled");
    expect(await started.result).toMatchObject({ status: "completed", outcome: "succeeded" });
  });

  it("lets a child continue to its end", async () => {
    const { model, release } = scene();
    await using mandate = await openEngine({ profiles: each("continue"), model });
    const started = await mandate.engine.startRun(request);
    await started.answer;
    const { outcome } = await mandate.engine.interrupt(started.runId, "stop");
    expect(outcome).toBe("continuing");
    release();
    expect(await started.result).toMatchObject({ status: "completed", outcome: "succeeded" });
  });

  it.skipIf(isOnPostgres)("pauses the run with its child, until it is resumed", async () => {
    const { model, release } = scene();
    await using mandate = await openEngine({ profiles: each("pause"), model });
    const started = await mandate.engine.startRun(request);
    await started.answer;
    const { outcome } = await mandate.engine.interrupt(started.runId, "stop");
    expect(outcome).toBe("paused");
    const state = await mandate.store.readRun(started.runId);
    const [root] = [...(state?.delegations.values() ?? [])];
    expect(root).toMatchObject({ status: "waiting_for_merge", isPaused: true });
    release();
    const [resumed] = await mandate.engine.recover(started.runId);
    expect(await resumed?.result).toMatchObject({ status: "completed", outcome: "succeeded" });
  });
});

describe("a later message of the session", () => {
  const leadTools = ["spawn", "spawn_await", "list_sub_agents", "get_delegation_result"];
  const team = [
    testProfile("lead", {
      tools: leadTools,
      capabilities: ["primary"],
      mayDelegate: { tools: ["read_file", ...leadTools] },
    }),
    testProfile("worker", { tools: ["read_file"] }),
  ];

  /** Answers the first message while its child runs; the next ones make the call that is given. */
  function conversation(calls: readonly { tool: string; input: object }[]) {
    const child = Promise.withResolvers<void>();
    const model: Script = async ({ caller, messages }) => {
      if (caller.depth > 0) {
        await child.promise;
        return "found it";
      }
      const said = messages.filter((one) => one.role === "user");
      if (!said.some(({ text }) => text.includes("and now"))) {
        return caller.turn === 1 ? { calls: [spawn] } : "I started it.";
      }
      if (caller.turn === 1) return { calls };
      return messages
        .slice(-calls.length)
        .map(({ text }) => text)
        .join("\n");
    };
    return { ...recording(model), release: child.resolve };
  }

  async function firstMessage(mandate: Awaited<ReturnType<typeof openEngine>>) {
    const started = await mandate.engine.startRun({ task: "go", profile: "lead" });
    await started.answer;
    const state = await mandate.store.readRun(started.runId);
    const child = [...(state?.delegations.keys() ?? [])][1] ?? "";
    return { started, child };
  }

  it("sees a child that still runs, waits for it, and is given its result", async () => {
    const { model, release } = conversation([
      { tool: "list_sub_agents", input: {} },
      { tool: "spawn_await", input: { job_ids: "*" } },
    ]);
    await using mandate = await openEngine({ profiles: team, model });
    const { child, started } = await firstMessage(mandate);
    const next = await mandate.engine.continueSession(started.delegationId, "and now wait for it");
    await until("the next message waits for the child", async () => {
      const events = await mandate.events(next.runId);
      return ofType(events, "agent.tool_started").some(
        ({ payload }) => payload.tool === "spawn_await",
      );
    });
    release();
    const { result } = await next.result;
    expect(result).toContain(`"delegationId":"${child}"`);
    expect(result).toContain(`[${child}: OK]\nfound it`);
    expect(await started.result).toMatchObject({ status: "completed", outcome: "succeeded" });
  });

  it("is told of one that has ended since in one line, once, and finds its result", async () => {
    const { model, release, seen } = conversation([
      { tool: "spawn_await", input: { job_ids: "*" } },
    ]);
    await using mandate = await openEngine({ profiles: team, model });
    const { child, started } = await firstMessage(mandate);
    release();
    await started.result;
    const next = await mandate.engine.continueSession(started.delegationId, "and now?");
    expect((await next.result).result).toBe(`[${child}: OK]\nfound it`);
    const told = ofType(await mandate.events(next.runId), "agent.interjected");
    expect(told.map(({ payload }) => payload.cause)).toMatchObject([
      { code: "child_ended", child: { id: child }, outcome: "completed" },
    ]);
    const first = seen.find(({ messages }) => messages.some(({ text }) => text === "and now?"));
    expect(first?.messages.at(-1)?.text).toContain(`Your sub-agent ${child} (worker:`);
    const last = await mandate.engine.continueSession(next.delegationId, "and now again");
    await last.result;
    expect(ofType(await mandate.events(last.runId), "agent.interjected")).toEqual([]);
  });

  it("of another session sees nothing of it", async () => {
    const { model, release } = conversation([{ tool: "spawn_await", input: { job_ids: "*" } }]);
    await using mandate = await openEngine({ profiles: team, model });
    const { started } = await firstMessage(mandate);
    const other = await mandate.engine.startRun({ task: "and now, elsewhere", profile: "lead" });
    expect((await other.result).result).toBe("No jobs found.");
    release();
    await started.result;
  });
});
