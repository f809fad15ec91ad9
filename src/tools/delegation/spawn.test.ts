import { describe, expect, it } from "vitest";
import type { Script } from "../../models/scripted/scripted-model.ts";
import { ofType, openEngine, recording, testProfile } from "../../testing/engine-fixture.ts";

const spawning = ["spawn", "spawn_await", "delegate_task", "list_sub_agents"];
const profiles = [
  testProfile("lead", {
    tools: spawning,
    mayDelegate: { tools: ["tick", "read_file", ...spawning] },
  }),
  testProfile("worker", { tools: ["read_file"] }),
];

/** A lead that makes the given calls, one turn each, and a child that says who it is. */
function leadThat(...inputs: readonly object[]): Script {
  return ({ caller }) => {
    if (caller.depth > 0) return { text: `did: ${caller.task}`, latency_ms: 20 };
    const input = inputs[caller.turn - 1];
    return input === undefined ? "done" : { calls: [{ tool: "spawn", input }] };
  };
}

describe("spawn", () => {
  it("returns the job id alone, at once, while the child still works", async () => {
    const { seen, model } = recording(leadThat({ task: "long work", profile: "worker" }));
    await using mandate = await openEngine({ profiles, model });
    const { events, delegationId } = await mandate.run({ task: "go", profile: "lead" });
    const [, second] = seen.filter(({ caller }) => caller.depth === 0);
    const message = second?.messages.at(-1);
    expect(message).toMatchObject({ tool: "spawn", isError: false });
    expect(message?.text).toMatch(/^[0-9a-f]{6,}$/);
    const [, created] = ofType(events, "agent.subagent_created");
    expect(created?.sub_agent_id).toBe(message?.text);
    const next = ofType(events, "agent.model_turn", delegationId)[1]?.seq ?? 0;
    const closed = ofType(events, "agent.subagent_closed", message?.text)[0]?.seq ?? 0;
    expect(closed).toBeGreaterThan(next);
  });

  it("gives every job an id of its own, also for the same task in one turn", async () => {
    const input = { task: "same", profile: "worker" };
    const { seen, model } = recording(({ caller }) =>
      caller.depth > 0 || caller.turn > 1
        ? "done"
        : { calls: Array.from({ length: 20 }, () => ({ tool: "spawn", input })) },
    );
    await using mandate = await openEngine({ profiles, model, maxConcurrent: 50 });
    await mandate.run({ task: "go", profile: "lead" });
    const last = seen.find(({ caller }) => caller.depth === 0 && caller.turn === 2);
    const ids = last?.messages.flatMap((message) => (message.role === "tool" ? message.text : []));
    expect(new Set(ids).size).toBe(20);
  });

  it.each([{}, { task: "" }, { task: " \n\t" }, { profile: "worker" }])(
    "answers %j with the error that a task is required, and makes no child",
    async (input) => {
      const { seen, model } = recording(leadThat(input));
      await using mandate = await openEngine({ profiles, model });
      const { events } = await mandate.run({ task: "go", profile: "lead" });
      expect(seen[1]?.messages.at(-1)).toMatchObject({
        text: "Error: task is required",
        isError: true,
      });
      expect(ofType(events, "agent.subagent_created")).toHaveLength(1);
      expect(ofType(events, "agent.tool_failed")).toHaveLength(1);
    },
  );

  it.each(["nobody", "Worker", "worker ", "__proto__"])(
    "answers the unknown profile %j with its name, and makes no child",
    async (profile) => {
      const { seen, model } = recording(leadThat({ task: "go", profile }));
      await using mandate = await openEngine({ profiles, model });
      const { events } = await mandate.run({ task: "go", profile: "lead" });
      expect(seen[1]?.messages.at(-1)).toMatchObject({
        text: `Error: unknown profile '${profile}'`,
        isError: true,
      });
      expect(ofType(events, "agent.subagent_created")).toHaveLength(1);
    },
  );

  it("lists the configured profiles as the values of `profile`", async () => {
    const { seen, model } = recording(() => "done");
    await using mandate = await openEngine({ profiles, model });
    await mandate.run({ task: "go", profile: "lead" });
    const spawn = seen[0]?.tools.find(({ name }) => name === "spawn");
    const text = JSON.stringify(spawn?.parameters["properties"]);
    expect(text).toContain('"enum":[');
    for (const name of ["lead", "worker", "researcher"]) expect(text).toContain(`"${name}"`);
  });

  it("puts context and task into the child's first message, and its prompt in its system", async () => {
    const input = { task: "look", context: "here", system_prompt: "Be brief.", profile: "worker" };
    const { seen, model } = recording(leadThat(input));
    await using mandate = await openEngine({ profiles, model });
    await mandate.run({ task: "go", profile: "lead" });
    const child = seen.find(({ caller }) => caller.depth === 1);
    expect(child?.system).toBe("Be brief.");
    expect(child?.messages).toEqual([{ role: "user", text: "Context:\nhere\n\nTask:\nlook" }]);
  });

  it("without a profile has its caller's tools, without those that spawn, and no other prompt", async () => {
    const { seen, model } = recording(leadThat({ task: "look" }));
    await using mandate = await openEngine({ profiles, model });
    await mandate.run({ task: "go", profile: "lead" });
    const child = seen.find(({ caller }) => caller.depth === 1);
    expect(child?.caller.profile).toBe("spawn");
    expect(child?.system).toBe("");
    const parent = seen.find(({ caller }) => caller.depth === 0);
    expect(parent?.tools.map(({ name }) => name)).toContain("spawn");
    expect(child?.tools.map(({ name }) => name)).toEqual(["read_file"]);
  });

  it("selects tools within the profile; what is not there is dropped and in the receipt", async () => {
    const { seen, model } = recording(
      leadThat({ task: "look", profile: "worker", tools: "read_file, write_file ,," }),
    );
    await using mandate = await openEngine({ profiles, model });
    const { events } = await mandate.run({ task: "go", profile: "lead" });
    const child = seen.find(({ caller }) => caller.depth === 1);
    expect(child?.tools.map(({ name }) => name)).toEqual(["read_file"]);
    const receipt = ofType(events, "agent.subagent_created")[1]?.payload.receipt;
    expect(receipt).toContainEqual(
      expect.objectContaining({ field: "tools", granted: ["read_file"], dropped: ["write_file"] }),
    );
  });

  it("refuses, and makes no child, when nothing that was asked for may be handed on", async () => {
    const { seen, model } = recording(
      leadThat({ task: "look", profile: "worker", tools: "write_file" }),
    );
    await using mandate = await openEngine({ profiles, model });
    const { events } = await mandate.run({ task: "go", profile: "lead" });
    expect(seen[1]?.messages.at(-1)).toMatchObject({ isError: true });
    expect(seen[1]?.messages.at(-1)?.text).toMatch(/^Error: None of the tools asked for "worker"/);
    expect(ofType(events, "agent.subagent_created")).toHaveLength(1);
  });

  it("is not offered unless it is switched on", async () => {
    const { seen, model } = recording(() => "done");
    const config = { tools: { spawn: { enabled: false, explicit_tools: "select" as const } } };
    await using mandate = await openEngine({ profiles, model, config });
    await mandate.run({ task: "go", profile: "lead" });
    const names = seen[0]?.tools.map(({ name }) => name);
    expect(names).toEqual(["delegate_task", "list_sub_agents"]);
  });
});
