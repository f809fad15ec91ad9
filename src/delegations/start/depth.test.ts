import { describe, expect, it } from "vitest";
import type { Script } from "../../models/scripted/scripted-model.ts";
import { ofType, openEngine, recording, testProfile } from "../../testing/engine-fixture.ts";

const spawning = [
  "delegate_task",
  "spawn",
  "spawn_await",
  "list_sub_agents",
  "get_delegation_result",
  "cancel_delegation",
  "send_message",
  "peek_result",
  "search_result",
  "slice_result",
];
const agent = testProfile("agent", { tools: ["read_file", ...spawning] });
const profiles = [
  agent,
  testProfile("shallow", { ...agent, name: "shallow", limits: { depth: 1 } }),
];

/** Everybody calls the tool in the first turn, whether it was offered or not, then reports. */
function everybodyCalls(tool: string, more: object = {}): Script {
  return ({ caller, messages }) =>
    caller.turn === 1
      ? { calls: [{ tool, input: { profile: "agent", task: "go deeper", ...more } }] }
      : `${caller.depth}: ${messages.at(-1)?.text.slice(0, 60)}`;
}

describe("children of delegate_task", () => {
  it("may delegate in turn down to the configured depth, and no further", async () => {
    const { seen, model } = recording(everybodyCalls("delegate_task"));
    await using mandate = await openEngine({ profiles, model });
    const { events, result } = await mandate.run({ task: "go", profile: "agent" });
    const firstTurns = seen.filter(({ caller }) => caller.turn === 1);
    expect(firstTurns.map(({ caller }) => caller.depth)).toEqual([0, 1, 2, 3]);
    const offered = firstTurns.map(({ tools }) => tools.map(({ name }) => name));
    for (const names of offered.slice(0, 3)) expect(names).toEqual(["read_file", ...spawning]);
    expect(offered[3]).toEqual(["read_file"]);
    const [denied, ...more] = ofType(events, "agent.tool_denied");
    expect(more).toEqual([]);
    expect(denied?.payload).toMatchObject({ tool: "delegate_task", rule: "depth_exhausted" });
    expect(denied?.payload.error).toMatch(/works at depth 3, and no level of delegation is left/);
    expect(result.status).toBe("completed");
  });

  it.each(spawning)(
    "at the limit, %s is refused at the call although it was not offered",
    async (tool) => {
      const { seen, model } = recording(({ caller }) =>
        caller.turn === 1 ? { calls: [{ tool, input: {} }] } : "done",
      );
      await using mandate = await openEngine({ profiles, model, limits: { maxDepth: 1 } });
      const { events } = await mandate.run({ task: "go", profile: "agent", maxDepth: 0 });
      expect(seen[0]?.tools.map(({ name }) => name)).toEqual(["read_file"]);
      const [denied] = ofType(events, "agent.tool_denied");
      expect(denied?.payload).toMatchObject({ tool, rule: "depth_exhausted" });
      expect(ofType(events, "agent.tool_started")).toEqual([]);
      expect(ofType(events, "agent.subagent_created")).toHaveLength(1);
    },
  );

  it.each([
    ["the configuration", { maxDepth: 2 }, {}, [3 - 1, 1, 0]],
    ["a request that asks for less", {}, { maxDepth: 0 }, [3, 0]],
    ["a request that asks for more", { maxDepth: 1 }, { maxDepth: 50 }, [1, 0]],
    ["a profile", {}, { profile: "shallow" }, [3, 1, 0]],
  ])("are as deep as %s allows", async (_whom, limits, request, depths) => {
    await using mandate = await openEngine({
      profiles,
      limits,
      model: everybodyCalls("delegate_task", request),
    });
    const { events } = await mandate.run({ task: "go", profile: "agent" });
    const created = ofType(events, "agent.subagent_created");
    const contracts = await Promise.all(
      created.map((event) => mandate.store.readContract(event.sub_agent_id ?? "")),
    );
    expect(contracts.map(({ permissions }) => permissions.max_delegation_depth)).toEqual(depths);
    expect(contracts.map(({ parent }) => parent.depth)).toEqual(depths.map((_, index) => index));
    expect(contracts.map(({ permissions }) => permissions.can_spawn_children)).toEqual(
      depths.map((depth) => depth > 0),
    );
  });
});

describe("a profile that only delegates", () => {
  it("is refused at the limit, and the refusal names the depth", async () => {
    const lead = testProfile("lead", { tools: ["delegate_task"] });
    const { seen, model } = recording(({ caller }) =>
      caller.turn === 1
        ? { calls: [{ tool: "delegate_task", input: { profile: "lead", task: "x" } }] }
        : "done",
    );
    await using mandate = await openEngine({ profiles: [lead], model, limits: { maxDepth: 1 } });
    await mandate.run({ task: "go", profile: "lead" });
    expect(seen.at(-1)?.messages.at(-1)).toMatchObject({
      isError: true,
      text: expect.stringMatching(
        /^Error: "lead" has only tools that delegate .*no level of delegation/,
      ),
    });
  });
});

describe("children of spawn", () => {
  it("never get a tool that spawns, whatever their profile and the call say", async () => {
    const { seen, model } = recording(({ caller }) => {
      if (caller.depth > 0 && caller.turn > 1) return "done";
      const input = { profile: "agent", task: "x", tools: `read_file,${spawning.join(",")}` };
      if (caller.turn === 1) return { calls: [{ tool: "spawn", input }] };
      return caller.turn === 2
        ? { calls: [{ tool: "spawn_await", input: { job_ids: "*" } }] }
        : "ok";
    });
    await using mandate = await openEngine({ profiles, model });
    const { events, delegationId } = await mandate.run({ task: "go", profile: "agent" });
    const child = seen.find(({ caller }) => caller.depth === 1);
    expect(child?.tools.map(({ name }) => name)).toEqual(["read_file"]);
    expect(seen.some(({ caller }) => caller.depth > 1)).toBe(false);
    const [denied] = ofType(events, "agent.tool_denied");
    expect(denied?.sub_agent_id).not.toBe(delegationId);
    expect(denied?.payload).toMatchObject({ tool: "spawn", rule: "depth_exhausted" });
    const [, created] = ofType(events, "agent.subagent_created");
    const dropped = created?.payload.receipt?.find(({ field }) => field === "tools")?.dropped;
    expect(dropped).toEqual(spawning);
  });
});

describe("delegating further", () => {
  const silent = testProfile("silent");

  it("is not inherited: a child whose profile names no tools has the others, and depth 0", async () => {
    const { seen, model } = recording(({ caller }) => {
      if (caller.turn > 1) return "done";
      return { calls: [{ tool: "delegate_task", input: { profile: "silent", task: "x" } }] };
    });
    await using mandate = await openEngine({ profiles: [agent, silent], model });
    const { events, result } = await mandate.run({ task: "go", profile: "agent" });
    const child = seen.find(({ caller }) => caller.depth === 1);
    expect(child?.tools.map(({ name }) => name)).toEqual(["read_file"]);
    const [{ delegationId = "" } = {}] = result.subDelegations ?? [];
    const { permissions } = await mandate.store.readContract(delegationId);
    expect(permissions).toMatchObject({ can_spawn_children: false, max_delegation_depth: 0 });
    expect(ofType(events, "agent.tool_denied", delegationId)[0]?.payload).toMatchObject({
      tool: "delegate_task",
      rule: "tool_not_granted",
    });
    expect(ofType(events, "agent.subagent_created")).toHaveLength(2);
  });

  it("is what a run's root may do that names no tools: the operator stands above it", async () => {
    const { seen, model } = recording(() => "done");
    await using mandate = await openEngine({ profiles: [silent], model });
    await mandate.run({ task: "go", profile: "silent" });
    expect(seen[0]?.tools.map(({ name }) => name)).toEqual(
      expect.arrayContaining(["read_file", ...spawning]),
    );
  });
});

describe("a model that always delegates", () => {
  it("stops at the number of delegations that a run may have, all depths together", async () => {
    const input = { profile: "agent", task: "more" };
    const calls = Array.from({ length: 4 }, () => ({ tool: "delegate_task", input }));
    await using mandate = await openEngine({
      profiles,
      limits: { maxChildren: 12 },
      model: ({ caller }) => (caller.turn === 1 ? { calls } : "done"),
    });
    const { events, result } = await mandate.run({ task: "go", profile: "agent" });
    expect(ofType(events, "agent.subagent_created")).toHaveLength(12);
    const failed = ofType(events, "agent.tool_failed");
    expect(failed.length).toBeGreaterThan(0);
    expect(failed[0]?.payload.error).toMatch(/already has 12 delegations, which is its limit/);
    expect(result.status).toBe("completed");
  });
});
