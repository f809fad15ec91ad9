import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { noExposure } from "../../contracts/exposure.ts";
import { defaultConfig } from "../../control/config.ts";
import type { Script } from "../../models/scripted/scripted-model.ts";
import { ofType, openEngine, recording, testProfile } from "../../testing/engine-fixture.ts";
import { until } from "../../testing/until.ts";
import { defineTool } from "../tool.ts";
import { Toolbox } from "../toolbox.ts";
import { spawnTool } from "./spawn.ts";

const spawning = ["spawn", "spawn_await", "delegate_task", "list_sub_agents"];
const profiles = [
  testProfile("lead", {
    tools: spawning,
    mayDelegate: { tools: ["tick", "read_file", ...spawning] },
  }),
  testProfile("worker", { tools: ["read_file"] }),
];

const tick = defineTool({
  name: "tick",
  description: "A tool of the user's own.",
  effect: "read",
  exposure: noExposure,
  idempotent: true,
  scopes: [],
  input: z.strictObject({}),
  execute: () => "tock",
});

/** A lead that makes the given calls, one turn each, and answers while its children are at work. */
function leadThat(...inputs: readonly object[]): Script {
  let begun = 0;
  const answered = Promise.withResolvers<void>();
  return async ({ caller, messages }) => {
    if (caller.depth > 0) {
      begun++;
      await answered.promise;
      return "worked";
    }
    const input = inputs[caller.turn - 1];
    if (input !== undefined) return { calls: [{ tool: "spawn", input }] };
    const spawned = messages.filter((one) => one.role === "tool" && !one.isError).length;
    await until("every child is at work", () => begun === spawned);
    if (caller.turn > inputs.length + 1) answered.resolve();
    return "done";
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
        text: expect.stringMatching(
          new RegExp(
            `^Error: unknown profile '${profile}' Known: .*analyst, builder, .*, writer\\.$`,
          ),
        ),
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
    expect(spawn?.parameters["properties"]).toMatchObject({
      profile: {
        type: "string",
        enum: [
          ...["analyst", "builder", "coder", "general", "lead", "oracle", "orchestrator", "pair"],
          ...["planner", "researcher", "reviewer", "summarizer", "worker", "writer"],
        ],
      },
    });
  });

  it("shows a model the task as the only thing that it must give", async () => {
    const { seen, model } = recording(() => "done");
    await using mandate = await openEngine({ profiles, model });
    await mandate.run({ task: "go", profile: "lead" });
    const spawn = seen[0]?.tools.find(({ name }) => name === "spawn");
    expect(spawn?.parameters["required"]).toEqual(["task"]);
    expect(spawn?.parameters["properties"]).toMatchObject({
      task: { type: "string" },
      context: { type: "string" },
      system_prompt: { type: "string" },
      tools: { type: "string" },
    });
  });

  it("takes any string for `profile` where no profile is configured", () => {
    const [spawn] = new Toolbox([spawnTool(() => [])]).offer(["spawn"]).descriptions;
    expect(spawn?.parameters["properties"]).toMatchObject({ profile: { type: "string" } });
    expect(JSON.stringify(spawn?.parameters)).not.toContain("enum");
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
    expect(child?.system).toMatch(/^You are a sub-agent\. Carry out the task/);
    const parent = seen.find(({ caller }) => caller.depth === 0);
    expect(parent?.tools.map(({ name }) => name)).toContain("spawn");
    expect(child?.tools.map(({ name }) => name)).toEqual(["read_file"]);
  });

  it("without a profile has every tool that its caller may hand on, one of the user's own too", async () => {
    const { seen, model } = recording(leadThat({ task: "look" }));
    const lead = testProfile("lead", { tools: ["list_files", "tick", ...spawning] });
    await using mandate = await openEngine({ profiles: [lead], tools: [tick], model });
    await mandate.run({ task: "go", profile: "lead" });
    const child = seen.find(({ caller }) => caller.depth === 1);
    expect(child?.tools.map(({ name }) => name)).toEqual(["list_files", "tick"]);
  });

  it("without a profile loads the default files, and takes its prompt and context from the call", async () => {
    const { seen, model } = recording(
      leadThat({ task: "look" }, { task: "look", context: "here", system_prompt: "Be brief." }),
    );
    await using mandate = await openEngine({ profiles, model });
    const { workspace } = mandate;
    writeFileSync(join(workspace, "AGENTS.md"), "house rules");
    writeFileSync(join(workspace, "ENVIRONMENT.md"), "linux");
    await mandate.run({ task: "go", profile: "lead", workspace });
    const children = seen.filter(({ caller }) => caller.depth === 1);
    expect(children.map(({ system }) => system)).toEqual([
      "house rules\n\n---\n\nlinux",
      "house rules\n\n---\n\nlinux\n\n---\n\nBe brief.",
    ]);
    expect(children.map(({ messages }) => messages[0]?.text)).toEqual([
      "Task:\nlook",
      "Context:\nhere\n\nTask:\nlook",
    ]);
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

  it("with explicit_tools: override takes the call's tools for the profile's, under the ceiling", async () => {
    const { seen, model } = recording(
      leadThat({ task: "look", profile: "worker", tools: "tick, write_file, spawn" }),
    );
    const config = {
      tools: {
        ...defaultConfig.tools,
        spawn: { enabled: true, explicit_tools: "override" as const },
      },
    };
    await using mandate = await openEngine({ profiles, tools: [tick], model, config });
    const { events } = await mandate.run({ task: "go", profile: "lead" });
    const child = seen.find(({ caller }) => caller.depth === 1);
    expect(child?.tools.map(({ name }) => name)).toEqual(["tick"]);
    expect(ofType(events, "agent.subagent_created")[1]?.payload.receipt).toContainEqual(
      expect.objectContaining({ granted: ["tick"], dropped: ["write_file", "spawn"] }),
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

  it.each([
    ["nothing is said of it", defaultConfig.tools.spawn],
    ["it is switched off", { enabled: false, explicit_tools: "select" as const }],
  ])("is neither offered nor let through when %s", async (_when, spawn) => {
    const { seen, model } = recording(leadThat({ task: "look", profile: "worker" }));
    await using mandate = await openEngine({
      profiles,
      model,
      config: { tools: { ...defaultConfig.tools, spawn } },
    });
    const { events } = await mandate.run({ task: "go", profile: "lead" });
    const names = seen[0]?.tools.map(({ name }) => name);
    expect(names).toEqual(["delegate_task", "list_sub_agents"]);
    expect(ofType(events, "agent.tool_denied")).toHaveLength(1);
    expect(ofType(events, "agent.subagent_created")).toHaveLength(1);
  });
});
