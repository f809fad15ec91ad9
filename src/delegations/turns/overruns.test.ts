import { describe, expect, it } from "vitest";
import type { StoredEvent } from "../../events/event.ts";
import type { Script } from "../../models/scripted/scripted-model.ts";
import { ofType, openEngine, testProfile } from "../../testing/engine-fixture.ts";
import { openFleet } from "../../testing/fleet.test-support.ts";

const prices = { "scripted/playbook": { input: 1, output: 1 } };
const config = { models: { providers: {}, pools: {}, prices } };
const limits = { maxOutputTokens: 400, maxRetries: 1, backoffMs: 1 };
/** Far more than any request here can use. */
const tooMuch = { prompt: 30_000, completion: 200 };
const modest = { prompt: 10, completion: 1 };
const delegate = (profile: string) => ({ tool: "delegate_task", input: { profile, task: "x" } });

const lead = testProfile("lead", { tools: ["delegate_task", "list_files"] });
const child = testProfile("child", { tools: ["list_files"] });
const profiles = [lead, child, testProfile("handing", { exit: { tools: ["complete_task"] } })];

async function run(model: Script, request: object = {}) {
  await using mandate = await openEngine({ profiles, model, config, limits });
  const { workspace } = mandate;
  return await mandate.run({ task: "go", profile: "child", workspace, ...request });
}

const reservedBy = (events: readonly StoredEvent[], id: string) =>
  ofType(events, "agent.budget_reserved").filter(({ sub_agent_id }) => sub_agent_id === id);

describe("a provider that reports more than the request allowed", () => {
  it("is settled as reported, marked, and asked nothing more", async () => {
    const { delegationId, events, result } = await run(() => ({
      text: "so far",
      calls: [{ tool: "list_files", input: {} }],
      usage: tooMuch,
    }));
    const [settled] = ofType(events, "agent.budget_settled");
    expect(settled?.payload).toMatchObject({ ...tooMuch, overrun: true });
    expect(settled?.payload).not.toHaveProperty("estimated");
    expect(reservedBy(events, delegationId)).toHaveLength(1);
    expect(ofType(events, "agent.tool_started")).toEqual([]);
    expect(result).toMatchObject({
      status: "completed",
      result: "so far",
      truncated: true,
      closeReason: "budget_exhausted",
      tokenUsage: { ...tooMuch, cost: 0.0302 },
    });
  });

  it("ends the delegation as failed when it has said nothing yet", async () => {
    const { result } = await run(() => ({
      calls: Array.from({ length: 9 }, () => ({ tool: "list_files", input: {} })),
      usage: tooMuch,
    }));
    expect(result).toMatchObject({ status: "failed", closeReason: "budget_exhausted" });
    expect(result.result).toContain("reported more tokens than were reserved");
  });

  it("does not keep a result from being handed in with the same answer", async () => {
    const complete = { tool: "complete_task", input: { summary: "all of it" } };
    const { result } = await run(() => ({ calls: [complete], usage: tooMuch }), {
      profile: "handing",
    });
    expect(result).toMatchObject({ status: "completed", closeReason: "budget_exhausted" });
    expect(result.result).toContain("all of it");
  });

  it("costs the callers above what it reported, and they go on with what is left", async () => {
    const { delegationId, events, result } = await run(
      ({ caller }) => {
        if (caller.depth > 0) return { text: "part", usage: tooMuch };
        return caller.turn > 1
          ? { text: "done", usage: modest }
          : { calls: [delegate("child")], usage: modest };
      },
      { profile: "lead", maxTokens: 60_000 },
    );
    expect(result).toMatchObject({ status: "completed", closeReason: "report_accepted" });
    expect(result.subDelegations?.[0]).toMatchObject({ closeReason: "budget_exhausted" });
    expect(reservedBy(events, delegationId)).toHaveLength(2);
  });

  it("leaves callers nothing to reserve when it exceeded their caps too", async () => {
    const { delegationId, events, result } = await run(
      ({ caller }) => {
        if (caller.depth > 0) return { text: "part", usage: tooMuch };
        return caller.turn > 1
          ? "never asked"
          : { text: "begun", calls: [delegate("child")], usage: modest };
      },
      { profile: "lead", maxTokens: 20_000 },
    );
    expect(result).toMatchObject({
      result: "begun",
      truncated: true,
      closeReason: "budget_exhausted",
    });
    expect(reservedBy(events, delegationId)).toHaveLength(1);
  });

  it("in dollars alone is an overrun as well", async () => {
    const dear = { "scripted/playbook": { input: 1, output: 1000 } };
    await using mandate = await openEngine({
      profiles,
      model: () => ({ text: "long", usage: { prompt: 10, completion: 800 } }),
      config: { models: { providers: {}, pools: {}, prices: dear } },
      limits,
    });
    const { events } = await mandate.run({ task: "go ".repeat(400), profile: "child", maxCost: 1 });
    const [settled] = ofType(events, "agent.budget_settled");
    expect(settled?.payload).toMatchObject({ completion: 800, overrun: true });
    expect(settled?.payload.reserved).toBeGreaterThan(810);
  });

  it.each([-1, 0.5, Number.NaN, 2 ** 60])(
    "is not believed when it reports %s tokens",
    async (count) => {
      const { events } = await run(() => ({
        text: "done",
        usage: { prompt: count, completion: 1 },
      }));
      const [settled] = ofType(events, "agent.budget_settled");
      expect(settled?.payload).toMatchObject({ estimated: true });
      expect(settled?.payload).not.toHaveProperty("overrun");
    },
  );

  it("stops a distributed run in the same way, on every worker", async () => {
    const model: Script = ({ caller }) => {
      if (caller.depth > 0) return { text: "spent", usage: tooMuch, latency_ms: 5 };
      if (caller.turn > 1) return { text: "done", usage: modest };
      return { text: "begun", calls: Array(20).fill(delegate("child")), usage: modest };
    };
    await using fleet = await openFleet(3, { profiles, model, config, limits });
    const { events } = await fleet.client.run({ task: "go", profile: "lead", maxTokens: 31_000 });
    const settled = ofType(events, "agent.budget_settled").map(({ payload }) => payload);
    expect(settled).toContainEqual(expect.objectContaining({ ...tooMuch, overrun: true }));
    const overrun = events.findIndex(
      ({ payload, type }) => type === "agent.budget_settled" && payload.overrun === true,
    );
    const later = events.slice(overrun).filter(({ type }) => type === "agent.budget_reserved");
    expect(later).toEqual([]);
  });
});
