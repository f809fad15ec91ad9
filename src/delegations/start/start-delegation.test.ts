import { describe, expect, it } from "vitest";
import type { Script } from "../../models/scripted/scripted-model.ts";
import { ofType, openEngine, recording, testProfile } from "../../testing/engine-fixture.ts";

describe("the contract of a delegation", () => {
  const profiles = [testProfile("agent", { tools: ["delegate_task"] })];
  const twoDeep: Script = ({ caller }) => {
    if (caller.depth === 2 || caller.turn > 1) return "done";
    const task = `Step below ${caller.depth}\nwith details`;
    return { calls: [{ tool: "delegate_task", input: { profile: "agent", task } }] };
  };

  it("says whose it is, which step, what the whole run is for and what its caller is at", async () => {
    await using mandate = await openEngine({ profiles, model: twoDeep });
    const task = "Move the harbour\n\nAll of it.";
    const { events, runId } = await mandate.run({ task, profile: "agent" });
    const ids = ofType(events, "agent.subagent_created").map((event) => event.sub_agent_id ?? "");
    const contracts = await Promise.all(ids.map((id) => mandate.store.readContract(id)));
    const common = { run_id: runId, task_prompt: task };
    expect(contracts.map(({ parent }) => parent)).toEqual([
      { ...common, sub_agent_id: null, step_idx: 0, depth: 0, goal_summary: "Move the harbour" },
      { ...common, sub_agent_id: ids[0], step_idx: 1, depth: 1, goal_summary: "Move the harbour" },
      { ...common, sub_agent_id: ids[1], step_idx: 2, depth: 2, goal_summary: "Step below 0" },
    ]);
  });

  it("names the step by the first line of its task, cut to what a title holds", async () => {
    await using mandate = await openEngine({ profiles, model: () => "done" });
    const titles: string[] = [];
    const [exact, long] = ["x".repeat(80), "y".repeat(81)];
    for (const task of ["  Count\nall sheep", exact, long]) {
      const { delegationId } = await mandate.run({ task, profile: "agent" });
      const { step } = await mandate.store.readContract(delegationId);
      expect(step).toMatchObject({ description: task, context: null, success_criteria: [] });
      titles.push(step.title);
    }
    expect(titles).toEqual(["Count", exact, `${"y".repeat(79)}…`]);
  });

  it("holds the success criteria, and the child reads them below its task", async () => {
    const { seen, model } = recording(() => "done");
    await using mandate = await openEngine({ profiles, model });
    const successCriteria = ["every sheep is counted", "the sum is written down"];
    const { delegationId } = await mandate.run({
      task: "Count all sheep",
      title: "Sheep",
      profile: "agent",
      successCriteria,
    });
    const { step } = await mandate.store.readContract(delegationId);
    expect(step).toMatchObject({ title: "Sheep", success_criteria: successCriteria });
    expect(seen[0]?.messages[0]?.text).toBe(
      "Task:\nCount all sheep\n\nSuccess criteria:\n- every sheep is counted\n- the sum is written down",
    );
  });
});

describe("a model override", () => {
  const pinned = testProfile("pinned", {
    tools: [],
    model: { model: "acme/small", allow: ["acme/large", "acme/huge"] },
  });

  async function served(modelOverride: string) {
    const { seen, model } = recording(() => "done");
    const models = { providers: {}, prices: {}, pools: {}, allow: ["acme/small", "acme/large"] };
    await using mandate = await openEngine({ profiles: [pinned], model, config: { models } });
    const { delegationId, events } = await mandate.run({
      task: "go",
      profile: "pinned",
      modelOverride,
    });
    const contract = await mandate.store.readContract(delegationId);
    const clamped = ofType(events, "agent.model_clamped").map(({ payload }) => payload);
    const [created] = ofType(events, "agent.subagent_created");
    return { asked: seen[0]?.model, contract, clamped, receipt: created?.payload.receipt };
  }

  it("that the profile and the operator allow is what the child runs on", async () => {
    const { asked, clamped, contract } = await served("acme/large");
    expect(asked).toBe("acme/large");
    expect(contract.model).toMatchObject({ provider: "acme", model: "large" });
    expect(clamped).toEqual([]);
  });

  it.each([
    ["the profile does not allow", "acme/other"],
    ["the operator does not allow", "acme/huge"],
    ["is named differently", "ACME/large"],
  ])("that %s is clamped to the profile's model, and the log has both", async (_why, override) => {
    const { asked, clamped, contract, receipt } = await served(override);
    expect(asked).toBe("acme/small");
    expect(contract.model).toMatchObject({ provider: "acme", model: "small" });
    expect(clamped).toEqual([{ requested: override, granted: "acme/small" }]);
    expect(receipt).toContainEqual({
      field: "model",
      requested: override,
      granted: "acme/small",
      reason: 'not in the model policy of "pinned"',
    });
  });
});

describe("what a child says", () => {
  it("is streamed while it says it, under its own id, and stored as a whole", async () => {
    const heard: string[] = [];
    const profiles = [
      testProfile("lead", { tools: ["delegate_task"] }),
      testProfile("speaker", { tools: [] }),
    ];
    const input = { profile: "speaker", task: "speak" };
    await using mandate = await openEngine({
      profiles,
      model: ({ caller }) => {
        if (caller.depth > 0) return { text: "aaabbbccc", chunks: 3, latency_ms: 6 };
        return caller.turn > 1 ? "done" : { calls: [{ tool: "delegate_task", input }] };
      },
      onDelta: (id, delta) => heard.push(`${id} says ${delta}`),
    });
    mandate.store.subscribe((events) => {
      for (const { payload, sub_agent_id: id } of ofType(events, "agent.model_turn"))
        if (payload.text) heard.push(`${id} said ${payload.text}`);
    });
    const { delegationId, result } = await mandate.run({ task: "go", profile: "lead" });
    const child = result.subDelegations?.[0]?.delegationId;
    const of = (id: string | undefined) => heard.filter((line) => line.startsWith(`${id} `));
    expect(of(child)).toEqual([
      `${child} says aaa`,
      `${child} says bbb`,
      `${child} says ccc`,
      `${child} said aaabbbccc`,
    ]);
    expect(of(delegationId)).toEqual([`${delegationId} says done`, `${delegationId} said done`]);
  });
});
