import { describe, expect, it } from "vitest";
import { defaultConfig } from "../../control/config.ts";
import type { ScriptedReply } from "../../models/scripted/playbook.ts";
import type { Script } from "../../models/scripted/scripted-model.ts";
import { ofType, openEngine, recording, testProfile } from "../../testing/engine-fixture.ts";

const profiles = [
  testProfile("lead", { tools: ["delegate_task"] }),
  testProfile("worker", { tools: [], limits: { tokens: 8000, timeoutMs: 60_000 } }),
];

function leadThat(input: object, child: ScriptedReply | string = "done"): Script {
  return ({ caller }) => {
    if (caller.depth > 0) return child;
    return caller.turn === 1 ? { calls: [{ tool: "delegate_task", input }] } : "done";
  };
}

async function outcomeOf(input: object, child?: ScriptedReply | string) {
  const { seen, model } = recording(leadThat(input, child));
  await using mandate = await openEngine({ profiles, model });
  const { events, delegationId } = await mandate.run({ task: "go", profile: "lead" });
  const id = ofType(events, "agent.subagent_created")[1]?.sub_agent_id;
  const contract = id === undefined ? undefined : await mandate.store.readContract(id);
  return { message: seen.at(-1)?.messages.at(-1), events, contract, delegationId };
}

describe("delegate_task", () => {
  it("blocks until the child is closed", async () => {
    const slow = { text: "y", latency_ms: 20 };
    const { events, delegationId } = await outcomeOf({ profile: "worker", task: "x" }, slow);
    const [child] = ofType(events, "agent.subagent_closed");
    const [, second] = ofType(events, "agent.model_turn", delegationId);
    expect(child?.seq).toBeLessThan(second?.seq ?? 0);
  });

  it("hands the result over in the transaction that closes the child, and once", async () => {
    const { events } = await outcomeOf({ profile: "worker", task: "x" });
    const [closed] = ofType(events, "agent.subagent_closed");
    const [completed, ...more] = ofType(events, "agent.tool_completed");
    expect(more).toEqual([]);
    expect(completed?.seq).toBe((closed?.seq ?? 0) + 1);
    expect(completed?.payload.delivered).toEqual([closed?.payload.sub_agent_id]);
  });

  it.each([
    [{ task: "x" }, /^The arguments of delegate_task do not fit: .*profile/],
    [{ profile: "worker" }, /^The arguments of delegate_task do not fit: .*task/],
    [{ profile: "worker", task: " " }, /^Error: task is required$/],
    [
      { profile: "nobody", task: "x" },
      /^Error: unknown profile 'nobody' Known: analyst, .*, worker, writer\.$/,
    ],
    [{ profile: "worker", task: "x", maxTokens: 0 }, /maxTokens/],
    [{ profile: "worker", task: "x", timeout: -1 }, /timeout/],
    [{ profile: "worker", task: "x", maxDepth: 1.5 }, /maxDepth/],
    [{ profile: "worker", task: "x", tools: "*" }, /tools/],
  ])("refuses %j with a sentence that names what is wrong", async (input, sentence) => {
    const { message, events } = await outcomeOf(input);
    expect(message).toMatchObject({ tool: "delegate_task", isError: true });
    expect(message?.text).toMatch(sentence);
    expect(ofType(events, "agent.subagent_created")).toHaveLength(1);
  });

  it("clamps what is asked for by the profile and says so in the receipt", async () => {
    const asked = { maxTokens: 1_000_000, timeout: 10_000_000, maxDepth: 9 };
    const { contract, events } = await outcomeOf({ profile: "worker", task: "x", ...asked });
    expect(contract?.budget.tokens).toBe(8000);
    expect(contract?.deadlines.total).toBe(60_000);
    expect(contract?.permissions.max_delegation_depth).toBe(0);
    expect(ofType(events, "agent.subagent_created")[1]?.payload.receipt).toMatchObject([
      { field: "depth", requested: 9, granted: 2, reason: expect.any(String) },
      { field: "tokens", requested: 1_000_000, granted: 8000, reason: expect.any(String) },
      { field: "timeout", requested: 10_000_000, granted: 60_000, reason: expect.any(String) },
    ]);
  });

  it("grants less than the profile when less is asked for, maxTokenBudget being the same", async () => {
    for (const name of ["maxTokens", "maxTokenBudget"]) {
      const { contract } = await outcomeOf({ profile: "worker", task: "x", [name]: 3000 });
      expect(contract?.budget.tokens).toBe(3000);
    }
  });

  it("never grants more than its caller has left, however large the request", async () => {
    const { seen, model } = recording(
      leadThat({ profile: "worker", task: "x", maxTokens: 18_000 }),
    );
    await using mandate = await openEngine({ profiles, model });
    const { result } = await mandate.run({ task: "go", profile: "lead", maxTokens: 16_000 });
    const [child] = result.subDelegations ?? [];
    const contract = await mandate.store.readContract(child?.delegationId ?? "");
    expect(seen).toHaveLength(3);
    expect(contract.budget.tokens).toBeLessThan(16_000);
  });

  it("gives a child the configured budget and time when neither call nor profile says more", async () => {
    const plain = testProfile("plain", { tools: [] });
    const model = leadThat({ profile: "plain", task: "x" });
    const { delegation } = defaultConfig.agents;
    const smaller = {
      ...delegation,
      defaultTimeout: 7000,
      tokenBudget: { default: 4000, max: 5000 },
    };
    for (const [agents, tokens, total] of [
      [{ delegation }, 50_000, 300_000],
      [{ delegation: smaller }, 4000, 7000],
    ] as const) {
      await using mandate = await openEngine({
        profiles: [...profiles, plain],
        model,
        config: { agents },
      });
      const { result } = await mandate.run({ task: "go", profile: "lead" });
      const [{ delegationId = "" } = {}] = result.subDelegations ?? [];
      const contract = await mandate.store.readContract(delegationId);
      expect(contract.budget.tokens).toBe(tokens);
      expect(contract.deadlines.total).toBe(total);
    }
  });

  it.each([1_000_000, 200_001])(
    "grants no child more than tokenBudget.max: not %i",
    async (asked) => {
      const greedy = testProfile("greedy", { tools: [], limits: { tokens: 900_000 } });
      const model = leadThat({ profile: "greedy", task: "x", maxTokens: asked });
      await using mandate = await openEngine({ profiles: [...profiles, greedy], model });
      const { result } = await mandate.run({ task: "go", profile: "lead" });
      const [{ delegationId = "" } = {}] = result.subDelegations ?? [];
      const { budget } = await mandate.store.readContract(delegationId);
      expect(budget.tokens).toBe(200_000);
    },
  );

  it("is gone, with all that belongs to it, where the operator switched delegation off", async () => {
    const { seen, model } = recording(leadThat({ profile: "worker", task: "x" }));
    const agents = { delegation: { ...defaultConfig.agents.delegation, enabled: false } };
    const tools = {
      ...defaultConfig.tools,
      spawn: { ...defaultConfig.tools.spawn, enabled: false },
    };
    const all = testProfile("all", { tools: "*" });
    await using mandate = await openEngine({
      profiles: [...profiles, all],
      model,
      config: { agents, tools },
    });
    const { events } = await mandate.run({ task: "go", profile: "all" });
    // Whether there is a shell is for the machine to say.
    const names = seen[0]?.tools.map(({ name }) => name).filter((name) => name !== "shell");
    expect(names).toEqual([
      "read_file",
      "write_file",
      "edit_file",
      "list_files",
      ...["glob", "grep", "document_query", "web_fetch"],
      "complete_task",
      "submit_for_review",
      "ask_user",
      "memory_load",
      "memory_save",
    ]);
    expect(ofType(events, "agent.tool_denied")[0]?.payload.rule).toBe("unknown_tool");
    expect(ofType(events, "agent.subagent_created")).toHaveLength(1);
  });

  it("gives several children of one turn back in the order of the calls", async () => {
    const { seen, model } = recording(({ caller }) => {
      if (caller.depth > 0) return { text: caller.task, latency_ms: Number(caller.task) };
      if (caller.turn > 1) return "done";
      const tasks = ["30", "1", "15"];
      return {
        calls: tasks.map((task) => ({ tool: "delegate_task", input: { profile: "worker", task } })),
      };
    });
    await using mandate = await openEngine({ profiles, model });
    const { result } = await mandate.run({ task: "go", profile: "lead" });
    const texts = seen
      .at(-1)
      ?.messages.flatMap((message) =>
        message.role === "tool" ? JSON.parse(message.text).result : [],
      );
    expect(texts).toEqual(["30", "1", "15"]);
    expect(result.subDelegations?.map((child) => child.result)).toEqual(["30", "1", "15"]);
  });
});
