import { describe, expect, it } from "vitest";
import type { StoredEvent } from "../../events/event.ts";
import { type Script, scriptedModel } from "../../models/scripted/scripted-model.ts";
import type { RunRequest } from "../../ports/delegator.ts";
import {
  type EngineOptions,
  ofType,
  openEngine,
  testProfile,
} from "../../testing/engine-fixture.ts";
import { openFleet } from "../../testing/fleet.test-support.ts";
import { until } from "../../testing/until.ts";

const prices = {
  "scripted/playbook": { input: 1000, output: 1000 },
  "test/second": { input: 1, output: 2000, longPrompt: { over: 1, input: 50, output: 3000 } },
};
const config = { models: { providers: {}, pools: {}, prices } };
const limits = { maxOutputTokens: 400, maxRetries: 0, backoffMs: 1 };
const costly = (cost: number, more: object = {}) =>
  testProfile("costly", { tools: ["list_files"], limits: { cost }, ...more });

async function run(
  model: Script,
  profile: ReturnType<typeof costly>,
  options: EngineOptions = {},
  request: Partial<RunRequest> = {},
) {
  const seen: Parameters<Script>[0][] = [];
  await using mandate = await openEngine({
    profiles: [profile],
    model(request) {
      seen.push(request);
      return model(request);
    },
    config,
    limits,
    ...options,
  });
  const { workspace } = mandate;
  const asked = { task: "go", profile: "costly", workspace, ...request };
  return { ...(await mandate.run(asked)), seen };
}

/** Works as long as it is let, at half a dollar a turn and more, and reports when it must. */
const busy: Script = ({ caller, tools }) => {
  const usage = { prompt: 300 * caller.turn, completion: 100 };
  if (tools.length === 0) return { text: "the best so far", usage };
  const calls = [{ tool: "list_files", input: { path: ".", limit: caller.turn } }];
  return { text: `step ${caller.turn}`, calls, usage };
};

/** The most that was spent and held back at any point of the log. */
function mostIn(events: readonly StoredEvent[]): number {
  const held = new Map<string | undefined, number>();
  let spent = 0;
  let most = 0;
  for (const { payload, sub_agent_id: id, type } of events) {
    if (type === "agent.budget_reserved") held.set(id, payload.cost ?? 0);
    if (type === "agent.budget_settled") {
      held.delete(id);
      spent += payload.cost;
    }
    most = Math.max(most, spent + [...held.values()].reduce((sum, cost) => sum + cost, 0));
  }
  return most;
}

describe("a cap in dollars", () => {
  it("withdraws the tools when it is nearly spent, and is never gone beyond", async () => {
    const { events, result, seen } = await run(busy, costly(6));
    expect(result).toMatchObject({
      status: "completed",
      result: "the best so far",
      truncated: true,
      closeReason: "budget_exhausted",
    });
    expect(seen.length).toBeGreaterThan(2);
    expect(seen.at(-1)?.tools).toEqual([]);
    expect(result.tokenUsage.cost).toBeGreaterThan(1);
    expect(mostIn(events)).toBeLessThanOrEqual(6);
  });

  it("that is too small for a single answer asks nobody, and says what one may cost", async () => {
    const { result, seen } = await run(busy, costly(0.5));
    expect(seen).toEqual([]);
    expect(result).toMatchObject({ status: "failed", closeReason: "budget_exhausted" });
    const least = Number(
      /may cost \$(\d+\.\d+) here, and \$0\.50 are left/.exec(result.result)?.[1],
    );
    expect((await run(busy, costly(least - 0.001))).seen).toEqual([]);
    expect((await run(busy, costly(least + 0.001))).seen).not.toEqual([]);
  });

  it("holds while forty children spend from it at once", async () => {
    let [billed, outstanding, most] = [0, 0, 0];
    await using mandate = await openEngine({
      profiles: [
        testProfile("lead", {
          tools: ["delegate_task"],
          mayDelegate: { tools: ["list_files"] },
          limits: { cost: 40 },
        }),
        testProfile("greedy", { tools: ["list_files"] }),
      ],
      config,
      limits: { ...limits, maxChildren: 50 },
      maxConcurrent: 40,
      async model({ caller, maxOutputTokens }) {
        // Every token of the answer, and a prompt of two hundred.
        const dollars = (200 + maxOutputTokens) / 1000;
        outstanding += dollars;
        most = Math.max(most, billed + outstanding);
        await new Promise((resolve) => setTimeout(resolve, Math.random() * 4));
        outstanding -= dollars;
        billed += dollars;
        const usage = { prompt: 200, completion: maxOutputTokens };
        if (caller.depth > 0 || caller.turn > 1) return { text: "y".repeat(100), usage };
        const input = { profile: "greedy", task: "eat" };
        return { calls: Array(40).fill({ tool: "delegate_task", input }), usage };
      },
    });
    const { workspace } = mandate;
    const { events, result } = await mandate.run({ task: "go", profile: "lead", workspace });
    expect(most).toBeLessThanOrEqual(40);
    expect(mostIn(events)).toBeLessThanOrEqual(40 + 1e-9);
    // More than half of it is kept back to read the results.
    expect(billed).toBeGreaterThan(7);
    expect(ofType(events, "agent.paused").length).toBeGreaterThan(0);
    const ends = new Set(result.subDelegations?.map(({ closeReason }) => closeReason));
    expect([...ends].sort()).toEqual(["budget_exhausted", "report_accepted"]);
  });

  it("holds over all workers of a run that is spread", async () => {
    const model: Script = ({ caller, maxOutputTokens }) => {
      const usage = { prompt: 100, completion: maxOutputTokens };
      if (caller.depth > 0 || caller.turn > 1) return { text: "spent", usage, latency_ms: 3 };
      const input = { profile: "greedy", task: "eat" };
      return { calls: Array(40).fill({ tool: "delegate_task", input }), usage };
    };
    const lead = testProfile("lead", { tools: ["delegate_task"], limits: { cost: 28 } });
    await using fleet = await openFleet(3, {
      profiles: [lead, testProfile("greedy")],
      model,
      config,
      limits,
    });
    const { events } = await fleet.client.run({ task: "go", profile: "lead" });
    expect(mostIn(events)).toBeLessThanOrEqual(28 + 1e-9);
    expect(ofType(events, "agent.model_turn").length).toBeGreaterThan(4);
    const failed = ofType(events, "agent.subagent_failed").map(({ payload }) => payload.code);
    expect(failed).toContain("budget_exhausted");
  });

  it("counts a request that was cut by its prompt's bound and what had arrived of its answer", async () => {
    const cut: Script = ({ caller }) =>
      caller.try === 1
        ? { fault: "connection", partial: "it began" }
        : { text: "done", usage: { prompt: 5, completion: 5 } };
    const { events, result } = await run(cut, costly(20));
    const [reserved] = ofType(events, "agent.budget_reserved");
    const [settled] = ofType(events, "agent.budget_settled");
    const { cost = 0, prompt = 0 } = reserved?.payload ?? {};
    expect(settled?.payload).toMatchObject({ prompt, completion: 8, estimated: true });
    expect(settled?.payload.cost).toBeCloseTo((prompt + 8) / 1000, 9);
    expect(settled?.payload.cost).toBeLessThan(cost);
    expect(result.tokenUsage).toEqual({
      prompt: prompt + 5,
      completion: 13,
      cost: expect.closeTo((prompt + 18) / 1000, 9),
      estimated: true,
    });
  });

  it("still counts it when its process died, or somebody else ended it", async () => {
    const stalled: EngineOptions = {
      profiles: [costly(20)],
      model: () => ({ fault: "stall" }),
      config,
      limits,
    };
    for (const ending of ["crash", "cancel"] as const) {
      await using mandate = await openEngine(stalled);
      const before = await mandate.another(stalled);
      const { runId } = await before.start({ task: "go", profile: "costly" });
      const reserved = await reservationOf(mandate, runId);
      await using after = await mandate.another({
        ...stalled,
        model: () => ({ text: "done", usage: { prompt: 0, completion: 0 } }),
      });
      if (ending === "cancel") await after.engine.cancel(runId, "enough");
      before.abandon();
      if (ending === "crash") await (await after.engine.recover())[0]?.result;
      const run = await after.store.readRun(runId);
      const [root] = [...(run?.delegations.values() ?? [])];
      expect(root?.usage.cost).toBe(reserved);
      expect(reserved).toBeGreaterThan(1);
    }
  });

  it("is counted by the prices of the contract, those of a model that steps in as well", async () => {
    const second = scriptedModel(() => ({ text: "done", usage: { prompt: 9, completion: 9 } }));
    const policy = { model: "scripted/playbook", fallbacks: ["test/second"] };
    const { events } = await run(() => ({ fault: "rejected" }), costly(50, { model: policy }), {
      models: { "test/second": second },
    });
    const [first, other] = ofType(events, "agent.budget_reserved").map(({ payload }) => payload);
    const [prompt, output] = [(first?.tokens ?? 0) - 400, 400];
    expect(first?.cost).toBeCloseTo((prompt + output) * 1e-3);
    // Nobody knows before how long the prompt turns out to be: the dearer rates count.
    expect(other?.cost).toBeCloseTo((prompt * 50 + output * 3000) / 1e6);
  });

  it.each([
    ["rose", { "scripted/playbook": { input: 1e6, output: 1e6 } }],
    ["were lost", {}],
  ])("is settled by what was agreed when prices %s meanwhile", async (_what, others) => {
    const stalled: EngineOptions = {
      profiles: [costly(9)],
      model: () => ({ fault: "stall" }),
      config,
      limits,
    };
    await using mandate = await openEngine(stalled);
    const before = await mandate.another(stalled);
    const { runId } = await before.start({ task: "go", profile: "costly" });
    const reserved = await reservationOf(mandate, runId);
    before.abandon();
    await using after = await mandate.another({
      ...stalled,
      config: { models: { ...config.models, prices: others } },
      model: () => ({ text: "done", usage: { prompt: 100, completion: 10 } }),
    });
    const [taken] = await after.engine.recover();
    expect(await taken?.result).toMatchObject({ status: "completed" });
    const settled = ofType(await after.events(runId), "agent.budget_settled");
    expect(settled.map(({ payload }) => payload.cost)).toEqual([reserved, 0.11]);
  });

  it("is for whoever looks on as well", async () => {
    const usage = { prompt: 1500, completion: 400 };
    const lead = testProfile("lead", { tools: ["list_files"] });
    const { events } = await run(
      ({ caller }) => {
        if (caller.profile === "pair" || caller.turn > 6) return { text: "hm", usage };
        const calls = [{ tool: "list_files", input: { limit: caller.turn } }];
        return { calls, usage: { prompt: 10, completion: 10 }, latency_ms: 5 };
      },
      lead,
      {
        profiles: [lead, testProfile("pair", { capabilities: ["watcher"], tools: [] })],
      },
      { profile: "lead", maxCost: 4, watchers: ["pair"] },
    );
    expect(mostIn(events)).toBeLessThanOrEqual(4 + 1e-9);
    expect(ofType(events, "agent.budget_settled").length).toBeGreaterThan(1);
  });

  it("counts an answer as the worst when nobody says what it used", async () => {
    const { events } = await run(() => ({ text: "short", fault: "no-usage" }), costly(20));
    const [reserved] = ofType(events, "agent.budget_reserved");
    const [settled] = ofType(events, "agent.budget_settled");
    expect(settled?.payload).toMatchObject({ cost: reserved?.payload.cost, estimated: true });
  });
});

async function reservationOf(
  { store }: Awaited<ReturnType<typeof openEngine>>,
  runId: string,
): Promise<number> {
  return until("the reservation", async () => {
    for await (const { payload, type } of store.readEvents({ runId })) {
      if (type === "agent.budget_reserved") return payload.cost ?? 0;
    }
    return undefined;
  });
}
